"""What an smdebug hook is told, in Stepwatch's words, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from smdebug.core.collection import Collection
from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode
from smdebug.exceptions import InvalidCollectionConfiguration, SMDebugError, SMDebugValueError
from stepwatch.config.asked import Asked, unfilled
from stepwatch.config.frameworks import framework as framework_of
from stepwatch.config.hook_json import read_open_hook_config
from stepwatch.errors import ConfigError, ConfigNotFound
from stepwatch.hook_config import RAW, SCALAR_COLLECTIONS, HookConfig, SavedCollection, SaveSteps
from stepwatch.steps import Mode

SaveConfigs = SaveConfig | SaveConfigMode | Mapping[ModeKeys, SaveConfigMode | None]


class HookArguments(TypedDict):
    """What a hook is made of; the keyword arguments of ``to_hook_config``."""

    out_dir: str
    collections: list[Collection]
    include_collections: list[str]
    save_config: SaveConfig
    reduction_config: ReductionConfig
    include_workers: str
    tensorboard_dir: str | None
    dry_run: bool


def to_hook_config(
    out_dir: str | os.PathLike[str],
    collections: Iterable[Collection],
    include_collections: Sequence[object] | str | None = None,
    save_config: SaveConfigs | None = None,
    reduction_config: ReductionConfig | None = None,
    include_regex: Sequence[str] | str | None = None,
    save_all: bool = False,
    include_workers: str = "one",
    tensorboard_dir: str | None = None,
    dry_run: bool = False,
    framework: str = "pytorch",
) -> HookConfig:
    """Return what a hook was told, settled and frozen; nothing given is changed.

    Args:
        out_dir: Where to write.
        collections: All that the hook knows, those built in too.
        include_collections: Which of them are saved, besides what the framework always saves.
        save_config: When to save of collections that say nothing of it.
        reduction_config: What to save of collections that say nothing of it; full values if
            this says nothing either.
        include_regex: Patterns that the collection ``default`` gets, which is then saved.
        save_all: Save every tensor; the collection ``all`` gets the pattern ``.*``.
        include_workers: ``all``, or only the first.
        tensorboard_dir: Where TensorBoard's files go.
        dry_run: Write nothing.
        framework: Whose collections are built in.

    Raises:
        InvalidCollectionConfiguration: A collection of another name can hold no tensor.
        SMDebugValueError: A value that cannot be meant.
    """
    known = framework_of(framework)
    try:
        steps = _steps(save_config, {mode: SaveSteps(known.interval) for mode in Mode})
        stored = RAW if reduction_config is None else reduction_config.to_stored()
        asked = {one.name: _asked(one, steps) for one in collections}
        added = {"default": _texts(include_regex), "all": (".*",) if save_all else ()}
        for name, patterns in added.items():
            before = asked.get(name, Asked(name))
            asked[name] = replace(before, patterns=(*before.patterns, *patterns))
        settled = tuple(one.settled(steps, stored) for one in asked.values())
    except ConfigError as error:
        raise _translated(error) from None
    for name in unfilled(settled, known):
        raise InvalidCollectionConfiguration(name)
    included = {name for name, patterns in added.items() if patterns}
    return HookConfig(
        os.path.expanduser(out_dir),
        settled,
        frozenset({*known.included, *_texts(include_collections), *included}),
        all_workers=include_workers == "all",
        tensorboard=tensorboard_dir,
        dry_run=dry_run,
        steps=steps,
        stored=stored,
    )


def from_hook_config(
    config: HookConfig, collection_class: type[Collection] = Collection
) -> HookArguments:
    """Return the arguments of a hook that is told the same.

    Args:
        config: What it is told.
        collection_class: What its collections are made of.
    """
    return {
        "out_dir": config.run,
        "collections": [_collection(one, config, collection_class) for one in config.collections],
        "include_collections": sorted(config.included),
        "save_config": SaveConfig.from_steps(config.steps),
        "reduction_config": ReductionConfig.from_stored(config.stored),
        "include_workers": "all" if config.all_workers else "one",
        "tensorboard_dir": config.tensorboard,
        "dry_run": config.dry_run,
    }


def read_hook_arguments(
    path: str | os.PathLike[str] | None = None,
    framework: str = "pytorch",
    collection_class: type[Collection] = Collection,
) -> HookArguments:
    """Return the arguments of the hook that a JSON file describes.

    Args:
        path: The file; else ``$SMDEBUG_CONFIG_FILE_PATH``, else SageMaker's place for it.
        framework: Whose collections are built in.
        collection_class: What its collections are made of.

    Raises:
        FileNotFoundError: There is no such file.
        SMDebugValueError: It holds what cannot be meant.
    """
    try:
        return from_hook_config(read_open_hook_config(path, kind=framework), collection_class)
    except ConfigNotFound:
        raise
    except ConfigError as error:
        raise _translated(error) from None


def _steps(config: SaveConfigs | None, default: Mapping[Mode, SaveSteps]) -> dict[Mode, SaveSteps]:
    return dict(default) if config is None else SaveConfig.parse(config).to_steps(default)


def _asked(collection: Collection, steps: Mapping[Mode, SaveSteps]) -> Asked:
    when, what = collection.save_config, collection.reduction_config
    return Asked(
        collection.name,
        tuple(collection.include_regex),
        frozenset(collection.tensor_names),
        steps if when is None else when.to_steps(steps),
        None if what is None else what.to_stored(),
        collection.save_histogram,
    )


def _collection(
    saved: SavedCollection, config: HookConfig, collection_class: type[Collection]
) -> Collection:
    has_hooks = saved.stored == config.stored or saved.name in SCALAR_COLLECTIONS
    return collection_class(
        saved.name,
        list(saved.patterns),
        saved.tensors,
        None if has_hooks else ReductionConfig.from_stored(saved.stored),
        None if saved.steps == config.steps else SaveConfig.from_steps(saved.steps),
        saved.histogram,
    )


def _texts(given: object) -> tuple[str, ...]:
    """Return the texts, or names of collections, in a list of them, or lists of lists."""
    if given is None:
        return ()
    if isinstance(given, Collection):
        return (given.name,)
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Iterable):
        return tuple(text for one in given for text in _texts(one))
    raise SMDebugValueError(f"a list of texts is wanted, and holds {given!r}")


def _translated(error: ConfigError) -> ConfigError:
    return error if isinstance(error, SMDebugError) else SMDebugValueError(str(error))
