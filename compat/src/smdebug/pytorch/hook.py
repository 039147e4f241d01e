"""smdebug's hook for PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from smdebug.core.forgiving import forgiving
from smdebug.core.hook import BaseHook, mode_steps_of
from smdebug.core.modes import ALLOWED_MODE_NAMES, ModeKeys, from_mode, to_mode
from smdebug.core.singleton_utils import set_hook
from smdebug.core.state_store import StateStore
from smdebug.core.utils import make_numpy_array
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.pytorch.collection import Collection, CollectionManager
from stepwatch.errors import ConfigError
from stepwatch.hook_config import HookConfig
from stepwatch.hooks.torch.registered import RegisteredHook
from stepwatch.hooks.torch.registered_steps import Value
from stepwatch.hooks.torch.step_numbers import StepNumbers
from stepwatch.steps import Mode

__all__ = ["Hook"]


class Hook(BaseHook):
    """Saves tensors of a PyTorch training; see ``BaseHook`` for the arguments.

    Each forward of a registered model is a step. Nothing that goes wrong while tensors are saved
    reaches the training; what cannot be meant is raised when it is said, or before the first step.
    """

    framework = "pytorch"
    collection_manager_class = CollectionManager
    collection_class = Collection

    def _attach(self) -> None:
        self._states = StateStore()
        self.training_run = 0
        self.init_step = -1
        self.last_saved_step: int | None = None
        self.has_registered_module = False
        self.has_registered_loss_module = False
        self._registered = RegisteredHook(
            self._hook_config, numbers=self._resumed(), before_step=self._before_step
        )
        self.chief_worker = "worker_0"
        self.worker = f"worker_{self._registered.rank[0]}"
        set_hook(self)

    # Where the training is

    @property
    def step(self) -> int:
        """The global step; -1 before the first."""
        return self._registered.numbers.step

    @property
    def mode(self) -> ModeKeys:
        """What the model is used for from the next step on."""
        return from_mode(self._registered.numbers.mode)

    @property
    def mode_steps(self) -> dict[ModeKeys, int]:
        """The step within each mode that was used."""
        return mode_steps_of(self._registered.numbers.within)

    def set_mode(self, mode: ModeKeys) -> None:
        """Say what the model is used for from the next step on.

        Raises:
            SMDebugValueError: It is no mode.
        """
        if not isinstance(mode, ModeKeys):
            names = ", ".join(f"modes.{name}" for name in ALLOWED_MODE_NAMES)
            raise SMDebugValueError(f"no mode {mode!r}; there are {names}")
        self._registered.set_mode(to_mode(mode))

    # What is saved

    @forgiving
    def register_module(self, module: torch.nn.Module) -> None:
        """Save tensors of a model, each forward of which is a step.

        Raises:
            SMDebugError: It is no ``torch.nn.Module``, or one that takes no hooks.
            AssertionError: It, or a part of it, is registered already.
        """
        if not isinstance(module, torch.nn.Module):
            raise SMDebugError(f"a torch.nn.Module can be registered, got {type(module).__name__}")
        if self._registered.modules.knows(module):
            raise AssertionError(f"{type(module).__name__}, or a part of it, is registered already")
        try:
            self._registered.register_module(module)
        except ConfigError as error:
            raise SMDebugError(str(error)) from None
        self.has_registered_module = True

    def register_hook(self, module: torch.nn.Module) -> None:
        """Do what ``register_module`` does."""
        self.register_module(module)

    @forgiving
    def register_loss(self, loss_module: torch.nn.Module) -> None:
        """Save what a loss is given and returns.

        Raises:
            AssertionError: It is no loss of ``torch.nn``.
        """
        if not isinstance(loss_module, torch.nn.modules.loss._Loss):
            raise AssertionError(  # noqa: TRY004  as ever
                f"a loss of torch.nn can be registered, got {type(loss_module).__name__}; what it "
                "returns can be given to record_tensor_value"
            )
        self._registered.register_loss(loss_module)
        self.has_registered_loss_module = True

    def register_first(self) -> None:
        """Register the first model with parameters that runs, and the losses that run."""
        self._registered.modules.look()

    @forgiving
    def record_tensor_value(self, tensor_name: str, tensor_value: torch.Tensor) -> None:
        """Save a tensor as ``<tensor_name>_output_<i>``, such as a functional loss.

        Raises:
            AssertionError: It is no tensor.
        """
        if not isinstance(tensor_value, torch.Tensor):
            raise AssertionError(  # noqa: TRY004  as ever
                f"a torch.Tensor can be recorded, got {type(tensor_value).__name__}"
            )
        self._registered.record_output(tensor_name, tensor_value)

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
        known = _as_array(value)
        size = known.numel() if isinstance(known, torch.Tensor) else known.size
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
            value = _as_array(tensor_value)
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

    # What the old hook did as well, and nothing here needs

    def record_trace_events(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: there is no timeline."""

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:
        """Return False: there is no timeline."""
        del metrics_name
        return False

    def count_parameters(self, model: torch.nn.Module) -> int:
        """Return how many elements the parameters of a model have that are trained."""
        return sum(one.numel() for one in model.parameters() if one.requires_grad)

    def _get_worker_name(self) -> str:
        return self.worker

    def _get_num_workers(self) -> int:
        return self._registered.rank[1]

    # Inside

    def _hook_config(self) -> HookConfig:
        names = self._registered.modules.names()
        for collection in self.collection_manager.collections.values():
            if isinstance(collection, Collection):
                for module in collection.include_modules(names):
                    self.logger.warning(
                        "collection %r gets nothing of %s: it is no part of a registered model",
                        collection.name,
                        type(module).__name__,
                    )
        return super()._hook_config()

    def _resumed(self) -> StepNumbers:
        """Return where an earlier run of this training was, or its beginning."""
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


def _as_array(value: object) -> Value:
    return value if isinstance(value, torch.Tensor) else make_numpy_array(value)
