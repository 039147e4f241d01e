"""From what torch does to observations: what is heard of torch, and what is done about it.

Whatever is called by torch here is guarded, and looks only at its own process and thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch.nn.modules.loss import _Loss

from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...steps import Mode
from .losses import LossNames
from .names import Names, unwrap
from .observe import Observer
from .optimizers import Optimizers
from .parameters import Carried, Parameters
from .steps import Steps


class Tracker:
    """Hears what torch does and observes it in the right step.

    Args:
        recorder: Who takes the steps.
        model: The only model to look at; by default every model that runs.
        on_step: Called after each step with its mode.
        hold: Hold a TRAIN step that is over until something runs; see ``Steps``.
        strict: Raise our own failures into training.
    """

    def __init__(
        self,
        recorder: Recorder,
        model: torch.nn.Module | None = None,
        on_step: Callable[[Mode], None] = lambda _: None,
        *,
        hold: bool = False,
        strict: bool = False,
    ) -> None:
        self.strict = strict
        self.active = True
        self.names = Names()
        self.observer = Observer()
        self.optimizers = Optimizers(self._is_ours)
        self.parameters = Parameters(self.names, self.optimizers)
        self.steps = Steps(
            recorder, self.observer, self.optimizers, self._complete, on_step, hold=hold
        )
        self._only = model
        if model is not None:
            self.names.add(model)
        self._where = os.getpid(), threading.get_ident()
        self._losses = LossNames()
        self._root: torch.nn.Module | None = None
        self._loss_depth = 0
        self._stepping: list[torch.optim.Optimizer] = []
        self._in_backward = False
        self._loss_since_backward = False
        self._num_optimizer_steps = 0
        self._carried: WeakKeyDictionary[torch.optim.Optimizer, Carried] = WeakKeyDictionary()
        self._num_stale = 0

    def detach(self) -> None:
        """Look no more, until ``active`` is set again."""
        self.active = False
        self._root, self._in_backward = None, False
        self._loss_depth = 0
        self._stepping = []

    # Modules

    @guarded
    def before_forward(self, module: torch.nn.Module) -> None:
        """A module is about to run."""
        if not self._looking() or self._in_backward:
            return
        if isinstance(module, _Loss):
            self._loss_depth += 1
        # The root again: its last forward was broken off by what torch tells nobody of, Ctrl-C.
        elif self._root is None or module is self._root:
            if self._is_model(module):
                self._root = module
                self._begin(module)
        elif self._is_new_part(module):
            self.names.add(self._root)

    @guarded
    def after_forward(self, module: torch.nn.Module, inputs: object, output: object) -> None:
        """A module returned ``output``, or raised and returned ``None``."""
        if not self._looking() or self._in_backward:
            return
        if isinstance(module, _Loss):
            self._loss_depth = max(0, self._loss_depth - 1)
            if self._loss_depth == 0:
                self._saw_loss(type(module).__name__, output)
            return
        if self._root is not None:
            name = self.names.of(module)
            if name is not None and output is not None:
                self.observer.outputs(self.steps.current(), name, inputs, output)
            if module is self._root:
                self._root = None

    # What is wrapped

    @guarded
    def saw_loss(self, name: str, value: object) -> None:
        """A functional loss returned."""
        if self._looking() and self._loss_depth == 0 and not self._in_backward:
            self._saw_loss(name, value)

    @guarded
    def before_backward(self, roots: object) -> None:
        """Gradients are about to be computed."""
        if not self._looking():
            return
        self.steps.before_backward()
        for carried in self._carried.values():
            carried.before_backward()
        if not self._loss_since_backward and isinstance(roots, torch.Tensor) and roots.numel() == 1:
            self._saw_loss("backward", roots)
        self._loss_since_backward = False
        self._in_backward = True

    @guarded
    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""
        self._in_backward = False
        if not self._looking():
            return
        for carried in self._carried.values():
            carried.after_backward()
        by_hand = self.parameters.are_updated_by_hand()
        self.steps.after_backward(by_hand=by_hand)
        if by_hand:
            for tracked in self.parameters.free():
                self.observer.parameter(self.steps.current(), tracked)

    @guarded
    def saw_clipping(self, norm: object, max_norm: object) -> None:
        """Gradients were clipped by their norm."""
        if self._looking():
            step = self.steps.current()
            self.observer.scalar(step, "optimizer/gradient_norm_before_clipping", norm, "optimizer")
            self.observer.scalar(step, "optimizer/max_norm", max_norm, "optimizer")

    @guarded
    def before_scaled_step(self) -> int:
        """A gradient scaler is about to step an optimizer, or to skip it."""
        return self._num_optimizer_steps

    @guarded
    def after_scaled_step(self, optimizer: torch.optim.Optimizer, steps_before: int) -> None:
        """It did, or skipped it because a gradient was infinite."""
        skipped = self._num_optimizer_steps == steps_before
        if skipped and self._looking() and self._is_ours(optimizer):
            self._before_optimizer(optimizer)
            self.observer.scalar(self.steps.current(), "optimizer/skipped", 1.0, "optimizer")
            self._after_optimizer(optimizer)

    # Optimizers

    @guarded
    def before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step; gradients are as it sees them."""
        if self._looking() and self._is_ours(optimizer):
            # On the list already: its last step raised, and torch tells nobody of that.
            if any(known is optimizer for known in self._stepping):
                self._stepping = []
            self._stepping.append(optimizer)
            if len(self._stepping) == 1:
                self._before_optimizer(optimizer)

    @guarded
    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer stepped."""
        if self._looking() and self._stepping and self._is_ours(optimizer):
            self._stepping.pop()
            if not self._stepping:
                self._after_optimizer(optimizer)

    # Users

    def save(self, name: str, value: object, collection: str) -> None:
        """Observe something of the user's in the step that is being observed."""
        step = self.steps.current()
        if isinstance(value, np.ndarray):
            value = torch.as_tensor(value)
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            self.observer.tensor(step, name, value, collection)
        else:
            self.observer.scalar(step, name, value, collection)

    # How

    def _looking(self) -> bool:
        ours = self.active and (os.getpid(), threading.get_ident()) == self._where
        return ours and not torch._C._get_tracing_state()

    def _is_model(self, module: torch.nn.Module) -> bool:
        if self._only is not None:
            return unwrap(module) is unwrap(self._only)
        return next(module.parameters(), None) is not None

    def _is_new_part(self, module: torch.nn.Module) -> bool:
        """Return whether a module was put into the running model after it was named."""
        if self.names.of(module) is not None or self._root is None:
            return False
        return any(module is part for part in self._root.modules())

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        if self._only is None:
            return True
        groups, known = optimizer.param_groups, self.names.parameters
        return any(id(parameter) in known for group in groups for parameter in group["params"])

    def _begin(self, model: torch.nn.Module) -> None:
        """A model begins to run."""
        mode = self.steps.saw_forward(model)
        if self.names.of(unwrap(model)) is None:
            self.names.add(model, plain=mode is Mode.TRAIN or self.optimizers.may_hold(model))
        if mode is Mode.TRAIN:
            self.names.set_trained(model)

    def _saw_loss(self, what: str, value: object) -> None:
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            self.steps.saw_loss(value)
            name = self._losses.name(self.steps.last_mode, what)
            if self.observer.loss(self.steps.current(), name, value):
                self._loss_since_backward = True

    def _before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        step = self.steps.before_optimizer(optimizer)
        if optimizer in self._carried:
            self._num_stale += self._carried[optimizer].count()
        self.optimizers.steps(optimizer)
        for tracked in self.parameters.of(optimizer):
            self.observer.parameter(step, tracked)
        for number, group in self.optimizers.numbered_groups(optimizer):
            if "lr" in group:
                self.observer.scalar(step, f"learning_rate/{number}", group["lr"], "learning_rates")

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._num_optimizer_steps += 1
        self._carried[optimizer] = Carried(self.parameters.of(optimizer))
        self.steps.after_optimizer(optimizer)

    def _complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: add what no optimizer told."""
        for tracked in self.parameters.free():
            self.observer.parameter(step, tracked)
        self.observer.scalar(step, "optimizer/stale_gradients", self._num_stale, "optimizer")
        self._num_stale = 0
