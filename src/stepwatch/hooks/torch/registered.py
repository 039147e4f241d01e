"""A hook for PyTorch in the manner of smdebug: it is told the model, the losses and what to save.

A step begins whenever a registered model is about to run, in training or not, and lasts until the
next one begins. What is saved is known then; at a step where nothing is, nothing is touched.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch.nn.modules.loss import _Loss

from ... import __version__
from ...capture.ending import how_it_ended
from ...capture.guard import guarded
from ...capture.listener import Listener
from ...capture.output import Output
from ...capture.recorder import Recorder
from ...errors import ConfigError
from ...formats.manifest import End
from ...hook_config import HookConfig
from ...steps import Mode
from .module_hooks import ModuleHooks
from .module_io import TensorNumbers
from .ranks import distributed_rank
from .registered_coverage import registered_coverage, warn_of_nothing
from .registered_steps import ByHand, RegisteredSteps, Value, copy_of
from .step_numbers import StepNumbers

_log = logging.getLogger("stepwatch")


class RegisteredHook:
    """Captures of a PyTorch training run what a hook configuration asks for.

    Weights are saved as the forward of a step found them, gradients as the last backward of a
    step computed them, before they are accumulated.

    Args:
        config: What to save and where, or what returns it: it is asked before the first step.
        rank: Which process this is, and of how many; by default what its libraries say.
        format: How the run is laid out.
        listeners: Who looks at every step at once, such as ``rules.LiveWatch``.
        command: The script and its arguments, for the record.
        numbers: Where the training is; by default at its beginning.
        before_step: Called before a step is counted.
        register_first: Register the first model with parameters that runs, and losses that run,
            without being told.
        strict: Raise our own failures into training, for tests.
    """

    #: All that were made and are still held by someone.
    known: ClassVar[weakref.WeakSet[RegisteredHook]] = weakref.WeakSet()

    def __init__(
        self,
        config: HookConfig | Callable[[], HookConfig],
        *,
        rank: tuple[int, int] | None = None,
        format: str = "smdebug",
        listeners: Sequence[Listener] = (),
        command: Sequence[str] = (),
        numbers: StepNumbers | None = None,
        before_step: Callable[[], None] | None = None,
        register_first: bool = False,
        strict: bool = False,
    ) -> None:
        self.strict = strict
        self.numbers = numbers or StepNumbers()
        self.rank = rank or distributed_rank()
        self.recorder: Recorder | None = None
        self._configure: Callable[[], HookConfig] = (
            (lambda: config) if isinstance(config, HookConfig) else config
        )
        self._config: HookConfig | None = None
        self._format = format
        self._recorder = partial(
            Recorder,
            listeners=listeners,
            command=command,
            versions={"stepwatch": __version__, "torch": torch.__version__},
            rank=self.rank,
        )
        self._before_step = before_step
        self._steps: RegisteredSteps | None = None
        self._by_hand: dict[str, ByHand] = {}
        self._io = TensorNumbers()
        # Gradients on several devices are computed in as many threads.
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.active, self.failure = True, ""
        #: Whether a step was counted by this hook.
        self.has_begun = False
        self._end: End | None = None
        #: What is registered.
        self.modules = ModuleHooks(self, looking=register_first)
        self.known.add(self)
        atexit.register(self._close_at_exit)

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

    @property
    def is_due(self) -> bool:
        """Whether anything but scalars is saved at the present step."""
        return self._steps is not None and self._steps.due

    def set_mode(self, mode: Mode) -> None:
        """Say what the model is used for from the next step on."""
        self.numbers.use(mode)

    @guarded
    def record_output(self, name: str, tensor: torch.Tensor) -> None:
        """Save a tensor as if a module of this name had returned it, ``<name>_output_<i>``."""
        if self.is_due:
            with self._lock:
                self._save(self._io.named(f"{name}_output", tensor), "outputs")

    @guarded
    def save_scalar(self, name: str, value: Value) -> None:
        """Save one number with the present step, whatever the configuration says.

        Before the first step it is saved with that. The value, of one element, is read now.
        """
        if self.active:
            self._by_hand[name] = ByHand("scalars", copy_of(value))

    @guarded
    def save_tensor(self, name: str, value: Value, collections: Sequence[str]) -> None:
        """Save a tensor with the present step if anything else is saved at it.

        Before the first step it is saved with that. The value is read now; of the collections
        that it joins, those that are not known are made.
        """
        if self.active and (self.is_due or not self.has_begun):
            self._by_hand[name] = ByHand("tensors", copy_of(value), collections)

    @guarded
    def reconfigure(self) -> None:
        """Ask anew what to save; from the next step on it is saved."""
        if self._config is None or not self.active:
            return
        try:
            config = self._configure()
        except ConfigError as error:
            _log.warning("what to save was changed and stays as it was: %s", error)
            return
        recorder = self.recorder
        if config != self._config and recorder is not None and recorder.debugger_plan:
            recorder.flush()  # steps under way are stored as they were captured
            recorder.debugger_plan.adopt(config)
        self._config = config

    def detach(self) -> None:
        """Let go of torch for good."""
        self.active = False
        self.modules.remove_all()

    def close(self, state: str = "finished", error: str = "") -> End | None:
        """Let go of torch, store what is left, and say how the run ended.

        Args:
            state: ``finished``, ``failed``, ``stopped`` or ``interrupted``.
            error: The exception that ended training, if one did.

        Returns:
            The note that was stored; ``None`` where this process writes nothing.
        """
        atexit.unregister(self._close_at_exit)
        forked = self._process != os.getpid()
        if self._end is None and not forked:
            if self.active:
                self._finish()
            self.detach()
            if self.recorder is not None:
                refused = self._steps.saved.refused if self._steps is not None else {}
                self.recorder.covered(registered_coverage(self.modules.roots, refused))
                self._end = self.recorder.close(state, error, self.failure)
        return self._end

    # What torch tells

    def before_root(self, root: torch.nn.Module) -> None:
        """A registered model is about to run: the last step is over and another begins."""
        if not self.active:
            return
        if self._config is None:
            self._config = self._configure()  # what it raises goes up: it cannot be meant
            self._start(self._config)
        self._begin(root)

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
            self._save(io.named(f"{name}_input", inputs), "inputs")
            if named:
                self._save(io.keyed(f"{name}_input", named), "inputs")
            self._save(io.named(f"{name}_output", output), kind)

    @guarded
    def after_gradient(self, name: str, gradient: torch.Tensor) -> None:
        """The gradient of a parameter was computed, and is about to be accumulated."""
        if self.is_due:
            with self._lock:
                self._save([(name, gradient)], "gradients")

    # Inside

    def _save(self, tensors: Iterable[tuple[str, torch.Tensor]], kind: str) -> None:
        if self._steps is not None:
            for name, tensor in tensors:
                self._steps.saved.add(name, kind, tensor)

    @guarded
    def _start(self, config: HookConfig) -> None:
        """Open the run, unless another process writes it."""
        if not (config.all_workers or self.rank[0] == 0):
            return
        output = Output(self._format, config.tensorboard, config, over_unfinished=True)
        self.recorder = self._recorder(config.run, output=output)
        plan = self.recorder.debugger_plan
        if plan is not None:
            self._steps = RegisteredSteps(self.recorder, plan, self.numbers, self._by_hand)

    @guarded
    def _begin(self, root: torch.nn.Module) -> None:
        if self._process != os.getpid():  # forked from the one that writes
            self.detach()
            return
        if self._before_step is not None:
            self._before_step()
        self.has_begun = True
        if self._steps is None:
            self.numbers.advance()
            self._by_hand.clear()
            self.modules.remove()
        elif self._steps.begin():
            self._io.restart()
            self.modules.install()
            self._steps.parameters(root)
        else:
            self.modules.remove()

    @guarded
    def _finish(self) -> None:
        """Hand on the last step; a run in which nothing ran is written as well."""
        warn_of_nothing(self.modules.roots, has_begun=self.has_begun)
        if self._config is None:
            self._config = self._configure()
            self._start(self._config)
        if self._steps is not None:
            self._steps.end()

    def _close_at_exit(self) -> None:
        if self.has_begun or self._by_hand:
            # Python leaves here the exception that it has just shown.
            self.close(*how_it_ended(getattr(sys, "last_value", None)))
        else:  # nothing was trained, as in a helper process that imports the script: no run is due
            warn_of_nothing(self.modules.roots, has_begun=False)
            self.detach()
