"""The hook for PyTorch in the manner of smdebug: told the model, the losses and what to save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.modules.loss import _Loss

from ...capture.debugger_plan import DebuggerPlan
from ...capture.guard import guarded
from ...hook_config import HookConfig
from .. import registered
from .module_hooks import ModuleHooks, class_name, named_parameters
from .module_io import TensorNumbers
from .profiled import Profiled
from .ranks import distributed_rank
from .saved_tensors import SavedTensors
from .torch_phases import TorchPhases

Value = torch.Tensor | npt.NDArray[np.generic]


class RegisteredHook(registered.RegisteredHook):
    """Captures of a PyTorch training run what a hook configuration asks for.

    Weights are saved as the forward of a step found them, gradients as the last backward of a
    step computed them, before they are accumulated.

    Args:
        config: What to save and where, or what returns it: it is asked before the first step.
        rank: Which process this is, and of how many; by default what its libraries say.
        register_first: Register the first model with parameters that runs, and losses that run,
            without being told.
        options: As of the hook that all frameworks have in common.
    """

    framework = "torch"
    register = "register_module(model)"
    unseen = "if it is compiled as one graph, register what torch.compile returns"

    def __init__(
        self,
        config: HookConfig | Callable[[], HookConfig],
        *,
        rank: tuple[int, int] | None = None,
        register_first: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(config, rank=rank or distributed_rank(), **options)
        self._io = TensorNumbers()
        self._profiled: tuple[Profiled, TorchPhases] | None = None
        #: What is registered.
        self.modules = ModuleHooks(self, looking=register_first)

    def register_module(self, module: torch.nn.Module) -> None:
        """Save of this model; each of its forwards is a step.

        Raises:
            ConfigError: It is no module, or it, or a part of it, is registered already.
        """
        if self.active:
            self.modules.add_root(module)

    def register_loss(self, loss: torch.nn.Module) -> None:
        """Save what this loss is given and returns.

        Raises:
            ConfigError: It is no loss of ``torch.nn``.
        """
        if self.active:
            self.modules.add_loss(loss)

    @guarded
    def record_output(self, name: str, tensor: torch.Tensor) -> None:
        """Save a tensor as if a module of this name had returned it, ``<name>_output_<i>``."""
        if self.is_due:
            with self._lock:
                self.save(self._io.named(f"{name}_output", tensor), "outputs")

    # What torch tells

    @guarded
    def before_any(self, module: torch.nn.Module) -> None:
        """Some module is about to run; register it if it is a loss, or the first model."""
        if isinstance(module, _Loss):
            self.register_loss(module)
        elif not self.modules.roots and any(True for _ in module.parameters()):
            self.register_module(module)
            self.before_root(module)  # it is not told of what was put on it just now

    @guarded
    def after_forward(
        self, name: str, kind: str, inputs: object, named: Mapping[str, Any], output: object
    ) -> None:
        """A module of this name returned."""
        if not self.is_due:
            return
        with self._lock:
            io = self._io
            self.save(io.named(f"{name}_input", inputs), "inputs")
            if named:
                self.save(io.keyed(f"{name}_input", named), "inputs")
            self.save(io.named(f"{name}_output", output), kind)

    @guarded
    def after_gradient(self, name: str, gradient: torch.Tensor) -> None:
        """The gradient of a parameter was computed, and is about to be accumulated."""
        if self.is_due:
            with self._lock:
                self.save([(name, gradient)], "gradients")

    def before_root(self, root: torch.nn.Module) -> None:
        super().before_root(root)
        self._profile()

    @guarded
    def _profile(self) -> None:
        """A step has begun: tell its phases, and what else is profiled of it."""
        if self.recorder is None or self._steps is None or self._steps.when is None:
            return
        profiler = self.recorder.profiler
        if profiler.config is None:
            return
        if self._profiled is None:
            self._profiled = Profiled(self.recorder), TorchPhases(profiler.phases)
            self._profiled[0].listen()
        profiler.phases.turn("forward")
        self._profiled[0].begin_step(*self._steps.when[:2])

    # What torch brings along

    def root_names(self) -> Sequence[str]:
        return [class_name(root) for root in self.modules.roots]

    def look(self, root: torch.nn.Module) -> None:
        self._io.restart()
        self.modules.install()
        self.save_parameters(
            (name, parameter, parameter.requires_grad) for name, parameter in named_parameters(root)
        )

    def look_away(self) -> None:
        self.modules.remove()

    def let_go(self) -> None:
        self.modules.remove_all()
        if self._profiled is not None:
            profiled, phases = self._profiled
            profiled.pause()
            phases.remove()
            self._profiled = None

    def saved_by(self, plan: DebuggerPlan) -> SavedTensors:
        return SavedTensors(plan)

    def copy_of(self, value: Value) -> Value:
        """Return a copy that lies where the value lies."""
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                return value.detach().clone()
        return np.array(value)
