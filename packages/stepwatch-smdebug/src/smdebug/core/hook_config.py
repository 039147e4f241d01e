"""The arguments of an smdebug hook as a hook configuration, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from stepwatch.errors import ConfigError, ConfigNotFound
from stepwatch.formats.smdebug.collections import (
    RAW,
    SCALAR_COLLECTIONS,
    SavedCollection,
    SaveSteps,
    Stored,
)
from stepwatch.model.steps import Mode
from stepwatch_smdebug.config.frameworks import framework as framework_of
from stepwatch_smdebug.config.frameworks import saved_collection
from stepwatch_smdebug.config.hook_config import read_open_hook_config
from stepwatch_smdebug.plan import HookConfig

from ..exceptions import InvalidCollectionConfiguration, SMDebugError, SMDebugValueError
from .collection import Collection
from .modes import ModeKeys
from .reduction_config import ReductionConfig
from .save_config import SaveConfig, SaveConfigMode

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
    """Return the configuration that the arguments of a hook make; nothing given is changed.

    Args:
        out_dir: Where to write.
        collections: All that the hook knows, those built in too.
        include_collections: Which of them are saved, besides what the framework always saves.
        save_config: When to save collections without a configuration of their own.
        reduction_config: What to save of such collections; full values by default.
        include_regex: Patterns that the collection ``default`` gets, which is then saved.
        save_all: Save every tensor; the collection ``all`` gets the pattern ``.*``.
        include_workers: ``all``, or only the first.
        tensorboard_dir: Where TensorBoard's files go.
        dry_run: Write nothing.
        framework: The framework whose collections are built in.

    Raises:
        InvalidCollectionConfiguration: A collection of another name can hold no tensor.
        SMDebugValueError: An invalid value.
    """
    known = framework_of(framework)
    default = {mode: SaveSteps(known.interval) for mode in Mode}
    try:
        steps = default if save_config is None else SaveConfig.parse(save_config).to_steps(default)
        stored = RAW if reduction_config is None else reduction_config.to_stored()
        given = {one.name: one for one in collections}
        added = {"default": _texts(include_regex), "all": (".*",) if save_all else ()}
        saved = tuple(
            _saved(given.get(name) or Collection(name), added.get(name, ()), steps, stored)
            for name in {**given, **added}
        )
    except ConfigError as error:
        raise _translated(error) from None
    for name in known.unfilled(saved):
        raise InvalidCollectionConfiguration(name)
    return HookConfig(
        os.path.expanduser(out_dir),
        saved,
        frozenset(included_names(framework, include_collections, include_regex, save_all)),
        all_workers=include_workers == "all",
        tensorboard=tensorboard_dir,
        dry_run=dry_run,
        steps=steps,
        stored=stored,
    )


def included_names(
    framework: str,
    include_collections: Sequence[object] | str | None,
    include_regex: Sequence[str] | str | None,
    save_all: bool,
) -> list[str]:
    """Return the names of the collections that a hook saves, each once.

    The arguments are those of ``to_hook_config``.
    """
    names = [*_texts(include_collections), *sorted(framework_of(framework).included)]
    names += ["default"] * bool(_texts(include_regex)) + ["all"] * save_all
    return list(dict.fromkeys(names))


def from_hook_config(
    config: HookConfig, collection_class: type[Collection] = Collection
) -> HookArguments:
    """Return the arguments of a hook with this configuration."""
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
        path: The file; else ``$SMDEBUG_CONFIG_FILE_PATH``, else SageMaker's path for it.
        framework: The framework whose collections are built in.
        collection_class: The class of its collections.

    Raises:
        FileNotFoundError: There is no such file.
        SMDebugValueError: It holds an invalid value.
    """
    try:
        return from_hook_config(read_open_hook_config(path, kind=framework), collection_class)
    except ConfigNotFound:
        raise
    except ConfigError as error:
        raise _translated(error) from None


def _saved(
    collection: Collection,
    added: tuple[str, ...],
    steps: Mapping[Mode, SaveSteps],
    stored: Stored,
) -> SavedCollection:
    when, what = collection.save_config, collection.reduction_config
    return saved_collection(
        collection.name,
        (*collection.include_regex, *added),
        collection.tensor_names,
        steps if when is None else when.to_steps(steps),
        stored if what is None else what.to_stored(),
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
    """Return the texts, and the names of collections, in lists however nested."""
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
