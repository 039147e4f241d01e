"""What smdebug's hooks share; each wraps the hook of ``stepwatch_smdebug`` that saves."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from stepwatch.model.steps import Mode
from stepwatch_smdebug.hooks.base import SmdebugHook, StepNumbers
from stepwatch_smdebug.plan import HookConfig

from ..exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from .access_layer.utils import check_dir_exists
from .collection import Collection, CollectionKeys
from .collection_manager import CollectionManager
from .hook_config import SaveConfigs, included_names, read_hook_arguments, to_hook_config
from .logger import get_logger
from .modes import ALLOWED_MODE_NAMES, ModeKeys, from_mode, to_mode
from .reduction_config import ReductionConfig
from .save_config import SaveConfig
from .singleton_utils import set_hook
from .state_store import StateStore
from .utils import flatten, make_numpy_array, match_inc

__all__ = ["BaseHook"]

H = TypeVar("H", bound="BaseHook")


class BaseHook:
    """Saves tensors of what is registered.

    Nothing that goes wrong while tensors are saved reaches the training; invalid arguments are
    raised at once, or before the first step.

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

    #: The framework whose collections are built in.
    framework = "pytorch"
    collection_manager_class: type[CollectionManager] = CollectionManager
    collection_class: type[Collection] = Collection
    _registered: SmdebugHook

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
        self.include_collections = included_names(
            self.framework, include_collections, include_regex, save_all
        )
        self.collection_manager = self.collection_manager_class(create_default=False)
        self.collection_manager.create_built_in(self.framework)
        #: Whether collections were handed out since they were read, and may have been changed.
        self._touched = False
        if include_regex:
            self.collection_manager.get(CollectionKeys.DEFAULT).include(include_regex)
        if save_all:
            self.collection_manager.get(CollectionKeys.ALL).include(".*")
        self._states = StateStore()
        self.training_run = 0
        self.init_step = -1
        self.last_saved_step: int | None = None
        self._registered = self._make_registered()
        self.chief_worker = "worker_0"
        self.worker = f"worker_{self._registered.rank[0]}"
        set_hook(self)

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

    # Where the training is

    @property
    def step(self) -> int:
        """The global step; -1 before the first."""
        return self._registered.numbers.step

    @property
    def mode(self) -> ModeKeys:
        """The mode from the next step on."""
        return from_mode(self._registered.numbers.mode)

    @property
    def mode_steps(self) -> dict[ModeKeys, int]:
        """The step within each mode that was used."""
        return {from_mode(mode): step for mode, step in self._registered.numbers.within.items()}

    def set_mode(self, mode: ModeKeys) -> None:
        """Set the mode from the next step on.

        Raises:
            SMDebugValueError: It is no mode.
        """
        if not isinstance(mode, ModeKeys):
            names = ", ".join(f"modes.{name}" for name in ALLOWED_MODE_NAMES)
            raise SMDebugValueError(f"no mode {mode!r}; there are {names}")
        self._registered.set_mode(to_mode(mode))

    # What is saved

    def save_scalar(
        self,
        name: str,
        value: object,
        sm_metric: bool = False,
        timestamp: float | None = None,
    ) -> None:
        """Save one number with the present step, whatever else is saved at it.

        Before the first step it is saved with that.

        Args:
            name: It is stored as ``scalar/<name>``.
            value: One element; a Python number is stored in shape ``(1,)``.
            sm_metric: Accepted for old code.
            timestamp: When it was, seconds since the Unix epoch; now by default.

        Raises:
            SMDebugTypeError: It is not one element.
        """
        del sm_metric
        known = self._as_array(value)
        size = known.numel() if hasattr(known, "numel") else known.size
        if size != 1 or isinstance(value, dict):
            raise SMDebugTypeError(f"scalar {name!r} must have one element, got {value!r:.100}")
        self._registered.save_scalar(
            f"scalar/{name}", known, round(Fraction(timestamp or 0) * 10**9)
        )

    def save_tensor(
        self,
        tensor_name: str,
        tensor_value: object,
        collections_to_write: str | list[str] = "default",
    ) -> None:
        """Save a tensor with the present step, if anything is saved at it.

        Before the first step it is saved with that. What is no array is warned of and left out.

        Args:
            tensor_name: Its name as it is stored.
            tensor_value: A tensor, an array, a number, or a list of numbers.
            collections_to_write: The collections that it joins; new ones are made.
        """
        try:
            value = self._as_array(tensor_value)
        except (TypeError, ValueError):
            self.logger.warning("tensor %r is not saved: it is no array", tensor_name)
            return
        names = flatten([collections_to_write])
        for name in names:
            self.collection_manager.get(name).add_tensor_name(tensor_name)
        self._registered.save_tensor(tensor_name, value, names)

    def close(self) -> None:
        """Store what is left and mark the end of the training; the model is observed no more."""
        self._registered.close()

    def _cleanup(self) -> None:
        self.close()

    # What only old code needs

    def record_trace_events(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: there is no timeline."""

    def _get_worker_name(self) -> str:
        return self.worker

    def _get_num_workers(self) -> int:
        return self._registered.rank[1]

    # What a framework defines

    def _make_registered(self) -> SmdebugHook:
        """Return the hook that does the work."""
        raise NotImplementedError

    def _as_array(self, value: object) -> Any:
        """Return an array of a value; TypeError if it is none, ValueError if it has no shape."""
        return make_numpy_array(value)

    # Inside

    def _resumed(self) -> StepNumbers:
        state = self._states.get_last_saved_state()
        if state is None:
            return StepNumbers()
        self.last_saved_step = state["latest-global-step-saved"]
        self.init_step = state["latest-global-step-seen"]
        self.training_run = state["training-run"] + 1
        within = {Mode[name]: step for name, step in state["latest-mode-step"].items()}
        return StepNumbers(self.init_step, self.init_step, within)

    def _before_step(self) -> None:
        if self._touched:
            self._touched = False
            self._registered.reconfigure()
        if self._registered.is_due:
            self.last_saved_step = self.step
        if self._states.is_used and self._states.is_checkpoint_updated():
            self._states.update_state(
                {
                    "training-run": self.training_run,
                    "latest-global-step-saved": self.last_saved_step,
                    "latest-global-step-seen": self.step,
                    "latest-mode-step": {m.name: step for m, step in self.mode_steps.items()},
                }
            )

    def __repr__(self) -> str:
        return (
            f"<{type(self).__module__}.{type(self).__name__} out_dir={self.out_dir} "
            f"step={self.step} mode={self.mode.name} worker={self.worker} "
            f"include_collections={self.include_collections} save_all={self.save_all}>"
        )

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


def _unended(out_dir: str | os.PathLike[str] | None) -> str:
    if out_dir is None:
        raise SMDebugRuntimeError("out_dir is needed: the folder or URL to write to")
    path = os.path.expanduser(os.fspath(out_dir))
    check_dir_exists(path)
    return path


def _tensorboard(export: bool, folder: str | os.PathLike[str] | None, out_dir: str) -> str | None:
    if folder is not None:
        return os.path.expanduser(os.fspath(folder))
    return f"{out_dir}/tensorboard" if export else None


_log = logging.getLogger("stepwatch")
Method = TypeVar("Method", bound=Callable[..., None])


def forgiving(method: Method) -> Method:
    """Log what a method of a hook raises if the hook has the default configuration."""

    @functools.wraps(method)
    def call(self: Any, *args: object, **kwargs: object) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            if not self.has_default_configuration():
                raise
            _log.error("nothing is saved by %s; training goes on: %s", method.__name__, error)

    return call  # type: ignore[return-value]  # same signature, kept by functools.wraps


#: What smdebug called a hook that a framework calls back.
CallbackHook = BaseHook
