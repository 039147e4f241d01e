"""From what torch does to observations: what is heard of torch, and what is done about it.

Whatever is called by torch here is guarded, and looks only at its own process and thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch.nn.modules.loss import _Loss

from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...steps import Mode
from .evidence import Evidence
from .extras import Extras
from .graphs import Graphs
from .looking import in_backward, in_transform
from .loss_call import LossCall
from .losses import LossNames
from .names import Names, unwrap
from .observe import Observer
from .optimizers import Optimizers
from .parameters import Carried, Parameters
from .steps import Steps
from .surroundings import Surroundings


class Tracker(Surroundings):
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
        super().__init__(strict=strict)
        self.names = Names()
        self.observer = Observer()
        self.optimizers = Optimizers(self._is_ours)
        self.parameters = Parameters(self.names, self.optimizers)
        self.extras = Extras(self.names, self.parameters, self.observer, recorder)
        self.evidence = Evidence(recorder, self.names, self.optimizers)
        self.steps = Steps(
            recorder, self.observer, self.optimizers, self._complete, on_step, hold=hold
        )
        self._only = model
        if model is not None:
            self.names.add(model)
        self._losses = LossNames()
        self.graphs = Graphs(recorder.plan, self.names, self._losses, self.observer, self.steps)
        self.root: torch.nn.Module | None = None
        self._stepping: list[torch.optim.Optimizer] = []
        self._loss_since_backward = False
        self.loss_depth = self._num_optimizer_steps = self._num_stale = 0
        self._loss_scale: torch.Tensor | None = None
        self._carried: WeakKeyDictionary[torch.optim.Optimizer, Carried] = WeakKeyDictionary()

    def detach(self) -> None:
        """Look no more, until ``active`` is set again."""
        self.active = False
        self.root, self.loss_depth, self._stepping = None, 0, []
        self.extras.pause()

    # Modules

    @guarded
    def before_forward(self, module: torch.nn.Module, inputs: tuple[object, ...]) -> None:
        """A module is about to run."""
        if not self._looking() or in_backward():
            return
        if isinstance(module, _Loss):
            self.before_loss(type(module).__name__, inputs)
            self.loss_depth += 1
        # The root again: its last forward was broken off by what torch tells nobody of, Ctrl-C.
        elif self.root is None or module is self.root:
            if self.is_model(module):
                self.root = module
                self._begin(module, inputs)
        elif self.names.of(module) is None:
            trained = self.steps.last_mode is Mode.TRAIN and not in_transform()
            self.names.meet(module, self.root, trained=trained)
        self.extras.enter(module)

    @guarded
    def after_forward(self, module: torch.nn.Module, given: Any, output: object) -> None:
        """A module returned ``output``, or raised and returned ``None``."""
        if not self._looking() or in_backward():
            return
        self.extras.attention.leave(module)
        if isinstance(module, _Loss):
            self.loss_depth = max(0, self.loss_depth - 1)
            if self.loss_depth == 0:
                inputs, keywords = given
                call = LossCall(type(module).__name__, inputs, keywords, module)
                self._saw_loss(call.name, output, call)
            return
        if self.graphs.runs(module):
            self._gather(module)  # first: what is inside ended before
        if self.root is not None:
            name, step = self.names.of(module), self.steps.current()
            if name is not None and output is not None:
                self.observer.outputs(step, name, given, output)
                self.extras.returned(step, module, name, given, output)
            if module is self.root:
                self.extras.loop.leave(step, is_trained=self.names.is_trained(module))
                self.root = None

    # What is wrapped

    @guarded
    def before_loss(self, name: str, inputs: tuple[object, ...], keywords: Any = None) -> None:
        """A loss is about to be computed."""
        if self._looking() and self.loss_depth == 0 and not in_backward():
            self.evidence.loss(name, inputs, keywords)

    @guarded
    def saw_loss(self, name: str, value: object, inputs: tuple[Any, ...], keywords: Any) -> None:
        """A functional loss returned."""
        if self._looking() and self.loss_depth == 0 and not in_backward():
            self._saw_loss(name, value, LossCall(name, inputs, keywords))

    @guarded
    def before_backward(self, roots: object) -> None:
        """Gradients are about to be computed."""
        if not self._looking() or in_backward():
            return
        self.steps.before_backward()
        self._gather()
        for carried in self._carried.values():
            carried.before_backward()
        if not self._loss_since_backward and isinstance(roots, torch.Tensor) and roots.numel() == 1:
            self._saw_loss("backward", roots)
        self._loss_since_backward = False
        self.extras.loop.before_backward()

    @guarded
    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""
        if not self._looking() or in_backward():
            return
        self.extras.after_backward()
        self.graphs.slots.clear()  # graphs that ran again, to be differentiated
        for carried in self._carried.values():
            carried.after_backward()
        by_hand = self.parameters.are_updated_by_hand()
        self.steps.after_backward(by_hand=by_hand)
        if by_hand:
            self.observer.parameters(self.steps.current(), self.parameters.free())

    @guarded
    def before_scaled_step(self, scaler: object) -> int:
        """A gradient scaler is about to step an optimizer, or to skip it."""
        self._loss_scale = getattr(scaler, "_scale", None)  # asking for it would wait for a device
        return self._num_optimizer_steps

    @guarded
    def after_scaled_step(self, optimizer: torch.optim.Optimizer, steps_before: int) -> None:
        """It did, or skipped it because a gradient was infinite."""
        skipped = self._num_optimizer_steps == steps_before
        if skipped and self._looking() and self._is_ours(optimizer):
            self._before_optimizer(optimizer, skipped=1.0)
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
                self.extras.loop.stepped()
                self._after_optimizer(optimizer)

    # Users

    @guarded
    def close(self) -> None:
        """Training is over: end the steps that are open."""
        if self.active and self._is_here():
            self._gather()
            self.steps.close()

    def save(self, name: str, value: object, collection: str, mode: Mode | None = None) -> None:
        """Observe something of the user's in the step that is observed, or is open in a mode."""
        step = self.steps.current(mode)
        value = torch.as_tensor(value) if isinstance(value, np.ndarray) else value
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            self.observer.tensor(step, name, value, collection)
        else:
            self.observer.scalar(step, name, value, collection)

    # How

    def is_model(self, module: torch.nn.Module) -> bool:
        """Return whether a module would be the model if none ran yet."""
        if self._only is not None:
            return unwrap(module) is unwrap(self._only)
        return next(module.parameters(), None) is not None

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        if self._only is None:
            return True
        groups, known = optimizer.param_groups, self.names.parameters
        return any(id(parameter) in known for group in groups for parameter in group["params"])

    def _gather(self, owner: torch.nn.Module | None = None) -> None:
        """Observe what ran in compiled graphs; see ``Graphs.gather``."""
        if self.graphs.gather(owner):
            self._loss_since_backward = True

    def _begin(self, model: torch.nn.Module, inputs: object) -> None:
        """A model begins to run."""
        mode = self.steps.saw_forward(model)
        if self.names.of(unwrap(model)) is None:
            self.names.add(model, plain=mode is Mode.TRAIN or self.optimizers.may_hold(model))
        if mode is Mode.TRAIN:
            self.names.set_trained(model)
            self.evidence.begin(model, self.steps.current(), inputs)
        self.extras.begin(self.steps.current(), model, inputs)

    def _saw_loss(self, what: str, value: object, call: LossCall | None = None) -> None:
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            self.steps.saw_loss(value)
            name = self._losses.name(self.steps.last_mode, what)
            step = self.steps.current()
            if self.observer.loss(step, name, value):
                self._loss_since_backward = True
            if call is None:
                self.extras.saw_written_loss(step, name, value)
            else:
                self.extras.saw_loss(step, name, value, call)
            self.evidence.judge(step, name)

    def _before_optimizer(self, optimizer: torch.optim.Optimizer, skipped: object = 0.0) -> None:
        step = self.steps.before_optimizer(optimizer)
        self.evidence.settle(step)
        self._gather()
        if optimizer in self._carried:
            self._num_stale += self._carried[optimizer].count()
        self.optimizers.steps(optimizer)
        scale, self._loss_scale = self._loss_scale, None
        if scale is not None:
            # A fused optimizer is told whether to skip, and unscales the gradients itself.
            self.extras.loop.loss_scale = scale
            skipped = getattr(optimizer, "found_inf", skipped)
            self.observer.scalar(step, "optimizer/loss_scale", scale, "optimizer")
            self.observer.scalar(step, "optimizer/skipped", skipped, "optimizer")
        scale = getattr(optimizer, "grad_scale", None)
        self.observer.parameters(step, self.parameters.of(optimizer), scale)
        for number, group in self.optimizers.numbered_groups(optimizer):
            if "lr" in group:
                self.observer.scalar(step, f"learning_rate/{number}", group["lr"], "learning_rates")
                self.extras.loop.saw_rate(group)
        self.extras.before_update(step, optimizer)

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self.extras.after_update(self.steps.current(), optimizer)
        self._num_optimizer_steps += 1
        self._carried[optimizer] = Carried(self.parameters.of(optimizer))
        self.steps.after_optimizer(optimizer)

    def _complete(self, step: OpenStep) -> None:
        """A TRAIN step ends: add what no optimizer told."""
        self.observer.parameters(step, self.parameters.free())
        self.extras.complete(step)
        self.observer.scalar(step, "optimizer/stale_gradients", self._num_stale, "optimizer")
        self._num_stale = 0
