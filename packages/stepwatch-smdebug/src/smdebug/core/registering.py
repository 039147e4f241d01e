"""What the hooks of frameworks share; each wraps the hook of ``stepwatch_smdebug`` that saves."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from stepwatch.model.steps import Mode
from stepwatch_smdebug.hooks.base import SmdebugHook, StepNumbers

from ..exceptions import SMDebugTypeError, SMDebugValueError
from .hook import BaseHook, mode_steps_of
from .modes import ALLOWED_MODE_NAMES, ModeKeys, from_mode, to_mode
from .singleton_utils import set_hook
from .state_store import StateStore
from .utils import make_numpy_array

__all__ = ["RegisteringHook"]


class RegisteringHook(BaseHook):
    """Saves tensors of what is registered; see ``BaseHook`` for the arguments.

    Nothing that goes wrong while tensors are saved reaches the training; invalid arguments are
    raised at once, or before the first step.
    """

    _registered: SmdebugHook

    def _attach(self) -> None:
        self._states = StateStore()
        self.training_run = 0
        self.init_step = -1
        self.last_saved_step: int | None = None
        self._registered = self._make_registered()
        self.chief_worker = "worker_0"
        self.worker = f"worker_{self._registered.rank[0]}"
        set_hook(self)

    def _make_registered(self) -> SmdebugHook:
        """Return the hook that does the work."""
        raise NotImplementedError

    def _as_array(self, value: object) -> Any:
        """Return an array of a value; TypeError if it is none, ValueError if it has no shape."""
        return make_numpy_array(value)

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
        return mode_steps_of(self._registered.numbers.within)

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
            timestamp: Accepted for old code; what is stored is when the step ended.

        Raises:
            SMDebugTypeError: It is not one element.
        """
        del sm_metric, timestamp
        known = self._as_array(value)
        size = known.numel() if hasattr(known, "numel") else known.size
        if size != 1:
            raise SMDebugTypeError(f"scalar {name!r} must have one element, and has {size}")
        self._registered.save_scalar(f"scalar/{name}", known)

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
            collections_to_write: Which it joins; new ones are made.
        """
        try:
            value = self._as_array(tensor_value)
        except (TypeError, ValueError):
            self.logger.warning("tensor %r is not saved: it is no array", tensor_name)
            return
        names = (
            [collections_to_write]
            if isinstance(collections_to_write, str)
            else list(collections_to_write)
        )
        for name in names:
            self.collection_manager.get(name).add_tensor_name(tensor_name)
        self._registered.save_tensor(tensor_name, value, names)

    def close(self) -> None:
        """Store what is left and mark the end of the training; the model is let go of."""
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
