"""What the hooks of all frameworks share: their arguments and collections."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from stepwatch.formats.smdebug.layout import END_KEY
from stepwatch.store import open_store
from stepwatch_smdebug.config.frameworks import framework
from stepwatch_smdebug.plan import HookConfig

from ..exceptions import SMDebugRuntimeError, SMDebugTypeError
from .collection import Collection, CollectionKeys
from .collection_manager import CollectionManager
from .hook_config import SaveConfigs, read_hook_arguments, to_hook_config
from .logger import get_logger
from .modes import ModeKeys
from .reduction_config import ReductionConfig
from .save_config import SaveConfig
from .utils import flatten, match_inc

__all__ = ["BaseHook"]

H = TypeVar("H", bound="BaseHook")


class BaseHook:
    """The arguments of a hook, and its collections.

    Args:
        out_dir: Where to write; no run may have ended there.
        export_tensorboard: Write files for TensorBoard as well.
        tensorboard_dir: Where those go; by default into ``out_dir``.
        dry_run: Observe everything and write nothing.
        reduction_config: What to save of collections without a configuration of their own.
        save_config: When to save such collections.
        include_regex: Patterns of tensors that are saved, in the collection ``default``.
        include_collections: Which collections are saved.
        save_all: Save every tensor.
        include_workers: ``all``, or only the first.

    Raises:
        SMDebugRuntimeError: No ``out_dir`` is given, or a run has ended there.
        SMDebugValueError: An invalid value.
    """

    #: Whose collections are built in.
    framework = "pytorch"
    collection_manager_class: type[CollectionManager] = CollectionManager
    collection_class: type[Collection] = Collection

    def __init__(
        self,
        out_dir: str | os.PathLike[str] | None = None,
        export_tensorboard: bool = False,
        tensorboard_dir: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        reduction_config: ReductionConfig | None = None,
        save_config: SaveConfigs | None = None,
        include_regex: Sequence[str] | str | None = None,
        include_collections: Sequence[Any] | None = None,
        save_all: bool = False,
        include_workers: str = "one",
    ) -> None:
        self.logger = get_logger()
        self.out_dir = _unended(out_dir)
        self.tensorboard_dir = _tensorboard(export_tensorboard, tensorboard_dir, self.out_dir)
        self.dry_run = dry_run
        self.save_all_workers = include_workers == "all"
        self.save_config = SaveConfig.parse(save_config)
        self.reduction_config = reduction_config or ReductionConfig(save_raw_tensor=True)
        self.include_regex = include_regex
        self.save_all = save_all
        self.include_collections = self._included(include_collections)
        self.collection_manager = self.collection_manager_class()
        self.collection_manager.create_built_in(self.framework)
        #: Whether collections were handed out since they were read, and may have been changed.
        self._touched = False
        if include_regex:
            self.collection_manager.get(CollectionKeys.DEFAULT).include(include_regex)
        if save_all:
            self.collection_manager.get(CollectionKeys.ALL).include(".*")
        self._attach()

    def _attach(self) -> None:
        """Attach to the framework."""

    def __getstate__(self) -> dict[str, Any]:
        # A model that holds its hook can be pickled and copied; the copy's hook is none.
        return {}

    @classmethod
    def create_from_json_file(
        cls: type[H], json_file_path: str | os.PathLike[str] | None = None
    ) -> H:
        """Return a hook that a hook configuration describes.

        Args:
            json_file_path: The file; else ``$SMDEBUG_CONFIG_FILE_PATH``, else SageMaker's path
                for it.

        Raises:
            FileNotFoundError: There is no such file.
            SMDebugValueError: It holds an invalid value.
        """
        arguments: dict[str, Any] = {
            **read_hook_arguments(json_file_path, cls.framework, cls.collection_class)
        }
        collections = arguments.pop("collections")
        hook = cls(**arguments)
        for collection in collections:
            hook.add_collection(collection)
        return hook

    @classmethod
    def hook_from_config(cls: type[H], json_config_path: str | os.PathLike[str] | None = None) -> H:
        """Do what ``create_from_json_file`` does."""
        return cls.create_from_json_file(json_config_path)

    def get_collection(self, name: str, create: bool = True) -> Collection:
        """Return a collection; an empty one is made if there is none.

        Args:
            name: Its name.
            create: Whether one may be made.

        Raises:
            SMDebugError: There is none, and none is to be made.
        """
        self._touched = True
        return self.collection_manager.get(name, create=create)

    def get_collections(self) -> dict[str, Collection]:
        """Return all collections by name."""
        self._touched = True
        return self.collection_manager.get_collections()

    def add_collection(self, collection: Collection) -> None:
        """Add a collection, in place of one of the same name.

        Raises:
            SMDebugTypeError: It is no collection.
        """
        if not isinstance(collection, Collection):
            raise SMDebugTypeError(f"a Collection can be added, got {collection!r}")
        self._touched = True
        self.collection_manager.add(collection)

    def collections_finding(self, tensor_name: str) -> list[str]:
        """Return the collections, of those that are saved, whose patterns find a tensor."""
        return [
            name
            for name, one in self.collection_manager.collections.items()
            if name in self.include_collections and match_inc(tensor_name, one.include_regex)
        ]

    def has_default_hook_configuration(
        self, default_saved_collections: Sequence[str] = (CollectionKeys.LOSSES,)
    ) -> bool:
        """Return whether nothing but what is always saved is saved."""
        saved = {collection.name for collection in self._hook_config().saved}
        return saved == set(default_saved_collections)

    def has_default_configuration(self) -> bool:
        """Return whether the hook has no configuration of its own."""
        return self.has_default_hook_configuration()

    def _hook_config(self) -> HookConfig:
        return to_hook_config(
            self.out_dir,
            list(self.collection_manager.collections.values()),
            include_collections=self.include_collections,
            save_config=self.save_config,
            reduction_config=self.reduction_config,
            include_workers="all" if self.save_all_workers else "one",
            tensorboard_dir=self.tensorboard_dir,
            dry_run=self.dry_run,
            framework=self.framework,
        )

    def _included(self, given: Sequence[Any] | None) -> list[str]:
        listed = [given] if isinstance(given, str) else given
        names = [getattr(one, "name", one) for one in flatten(listed or [])]
        names.extend(framework(self.framework).included)
        if self.include_regex:
            names.append(CollectionKeys.DEFAULT)
        if self.save_all:
            names.append(CollectionKeys.ALL)
        return list(dict.fromkeys(names))


def mode_steps_of(within: Mapping[Any, int]) -> dict[ModeKeys, int]:
    return {ModeKeys[mode.name]: step for mode, step in within.items()}


def _unended(out_dir: str | os.PathLike[str] | None) -> str:
    if out_dir is None:
        raise SMDebugRuntimeError("out_dir is needed: the folder or URL to write to")
    place = os.path.expanduser(os.fspath(out_dir))
    if open_store(place).list(END_KEY):
        raise SMDebugRuntimeError(
            f"a training has ended in {place}, and its tensors would be mixed with new ones; "
            "give another out_dir, or delete it"
        )
    return place


def _tensorboard(export: bool, folder: str | os.PathLike[str] | None, out_dir: str) -> str | None:
    if folder is not None:
        return os.path.expanduser(os.fspath(folder))
    return f"{out_dir}/tensorboard" if export else None
