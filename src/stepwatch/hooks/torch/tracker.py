"""From what torch does to steps: when a step begins, what belongs to it, when it ends.

A TRAIN step ends with its optimizers' step. Where several optimizers live, the step ends once
all of them have stepped, or before one of them steps again; what ran since the last of them then
belongs to the step after. An EVAL step is one forward of a model in eval mode or without
gradients; it ends when that model runs again, or anything is trained.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

import torch
from torch.nn.modules.loss import _Loss

from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...steps import Mode
from .losses import LossNames
from .names import Names, unwrap
from .observe import Observer
from .parameters import Carried, Optimizers, Parameters


class Tracker:
    """Follows what torch does and keeps the recorder's steps.

    Args:
        recorder: Who takes the steps.
        model: The only model to look at; by default every model that runs.
        on_step: Called after each step with its mode.
        strict: Raise our own failures into training.
    """

    def __init__(
        self,
        recorder: Recorder,
        model: torch.nn.Module | None = None,
        on_step: Callable[[Mode], None] = lambda _: None,
        *,
        strict: bool = False,
    ) -> None:
        self.recorder = recorder
        self.strict = strict
        self.names = Names()
        self.observer = Observer(self.names)
        self.optimizers = Optimizers()
        self.parameters = Parameters(self.names, self.optimizers)
        self.mode: Mode | None = None  # what the user said; else it is worked out
        self._on_step = on_step
        self._only = model
        if model is not None:
            self.names.add(model)
        self._thread = threading.get_ident()
        self._losses = LossNames()
        self._last_mode = Mode.TRAIN
        self._root: torch.nn.Module | None = None
        self._loss_depth = 0
        self._optimizer_depth = 0
        self._in_backward = False
        self._loss_since_backward = False
        self._num_optimizer_steps = 0
        self._next: OpenStep | None = None
        self._stepped: list[weakref.ref[torch.optim.Optimizer]] = []
        self._evaluated: list[int] = []
        self._eval_trains = False
        self._had_backward = False
        self._train_forward = False  # a model ran to be trained since the last optimizer step
        self._carried: dict[int, Carried] = {}
        self._num_stale = 0
        self.active = True

    def detach(self) -> None:
        """Look no more, until ``active`` is set again."""
        self.active = False
        self._root, self._in_backward = None, False
        self._loss_depth = self._optimizer_depth = 0

    # Modules

    @guarded
    def before_forward(self, module: torch.nn.Module) -> None:
        """A module is about to run."""
        if not self._looking() or self._in_backward:
            return
        if isinstance(module, _Loss):
            self._loss_depth += 1
        elif self._root is None and self._is_model(module):
            self._root = module
            self._begin(module)
        elif self._root is not None and self._is_new_part(module):
            self.names.add(self._root)

    @guarded
    def after_forward(self, module: torch.nn.Module, inputs: object, output: object) -> None:
        """A module returned ``output``, or raised and returned ``None``."""
        if not self._looking() or self._in_backward:
            return
        if isinstance(module, _Loss):
            self._loss_depth -= 1
            if self._loss_depth == 0:
                self._saw_loss(type(module).__name__, output)
            return
        if self._root is not None:
            name = self.names.modules.get(id(module))
            if name is not None and output is not None:
                self.observer.outputs(self._step(), name, inputs, output)
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
        if self._last_mode is Mode.EVAL and self.mode is None:
            if self._train_forward:
                self._last_mode = Mode.TRAIN
            else:
                self._take_eval_for_train()
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
        self._had_backward = True
        for carried in self._carried.values():
            carried.after_backward()
        if not self._num_optimizer_steps and not len(self.optimizers):
            self.optimizers.look()
        if not len(self.optimizers):  # the script updates by hand
            for tracked in self.parameters.free():
                self.observer.parameter(self._step(), tracked)

    @guarded
    def saw_clipping(self, norm: object, max_norm: object) -> None:
        """Gradients were clipped by their norm."""
        if self._looking():
            step = self._step()
            self.observer.scalar(step, "optimizer/gradient_norm_before_clipping", norm, "optimizer")
            self.observer.scalar(step, "optimizer/max_norm", max_norm, "optimizer")

    @guarded
    def before_scaled_step(self) -> int:
        """A gradient scaler is about to step an optimizer, or to skip it."""
        return self._num_optimizer_steps

    @guarded
    def after_scaled_step(self, optimizer: torch.optim.Optimizer, steps_before: int) -> None:
        """It did, or skipped it because a gradient was infinite."""
        if not self._looking():
            return
        skipped = self._num_optimizer_steps == steps_before
        if skipped:
            self._before_optimizer(optimizer)
            self.observer.scalar(self._step(), "optimizer/skipped", 1.0, "optimizer")
            self._after_optimizer(optimizer)

    # Optimizers

    @guarded
    def before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step; gradients are as it sees them."""
        if self._looking() and self._is_ours(optimizer):
            self._optimizer_depth += 1
            if self._optimizer_depth == 1:
                self._before_optimizer(optimizer)

    @guarded
    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer stepped."""
        if self._looking() and self._optimizer_depth and self._is_ours(optimizer):
            self._optimizer_depth -= 1
            if self._optimizer_depth == 0:
                self._after_optimizer(optimizer)

    # Users

    def save(self, name: str, value: object, collection: str) -> None:
        """Observe something of the user's in the step that is being observed."""
        step = self._step()
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            self.observer.tensor(step, name, value, collection)
        else:
            self.observer.scalar(step, name, value, collection)

    def close(self) -> None:
        """End what is open: what was observed before training broke off is still told."""
        if self.recorder.is_open(Mode.TRAIN):
            self._end(Mode.TRAIN)
        if self._next is not None:
            self.recorder.move(self._next, Mode.TRAIN)
            self._next = None
            self._end(Mode.TRAIN)
        for mode in (Mode.EVAL, Mode.PREDICT):
            if self.recorder.is_open(mode):
                self._end(mode)

    # How

    def _looking(self) -> bool:
        ours = self.active and threading.get_ident() == self._thread
        return ours and not torch._C._get_tracing_state()

    def _is_model(self, module: torch.nn.Module) -> bool:
        if self._only is not None:
            return unwrap(module) is unwrap(self._only)
        return next(module.parameters(), None) is not None

    def _is_new_part(self, module: torch.nn.Module) -> bool:
        """Return whether a module was put into the running model after it was named."""
        if id(module) in self.names.modules or self._root is None:
            return False
        return any(module is part for part in self._root.modules())

    def _is_ours(self, optimizer: torch.optim.Optimizer) -> bool:
        if self._only is None:
            return True
        groups = optimizer.param_groups
        known = self.names.parameters
        return any(id(parameter) in known for group in groups for parameter in group["params"])

    def _begin(self, module: torch.nn.Module) -> None:
        """A model begins to run."""
        if id(unwrap(module)) not in self.names.modules:
            self.names.add(module)
        if self._had_backward and not len(self.optimizers):
            self._end(Mode.TRAIN)
        mode = self._last_mode = self.mode or self._mode_of(module)
        if mode is Mode.TRAIN:
            self._train_forward = True
            self.names.set_trained(module)
            return
        if self.recorder.is_open(mode) and id(module) in self._evaluated:
            self._end(mode)
        self._evaluated.append(id(module))

    def _mode_of(self, module: torch.nn.Module) -> Mode:
        trains = torch.is_grad_enabled() and (module.training or self._eval_trains)
        return Mode.TRAIN if trains else Mode.EVAL

    def _step(self) -> OpenStep:
        """Return the step to which what happens now belongs."""
        if self._last_mode is Mode.TRAIN and self._stepped and not self._optimizer_depth:
            if self._next is None:
                self._next = self.recorder.new_step(Mode.TRAIN)
            return self._next
        return self.recorder.open_step(self._last_mode)

    def _saw_loss(self, what: str, value: object) -> None:
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            if value.requires_grad and self._train_forward and self.mode is None:
                self._last_mode = Mode.TRAIN  # a teacher ran last, but this is the student's
            name = self._losses.name(self._last_mode, what)
            if self.observer.loss(self._step(), name, value):
                self._loss_since_backward = True

    def _take_eval_for_train(self) -> None:
        """The model trains in eval mode: what was taken for an evaluation is a step."""
        self._eval_trains = True
        self._last_mode = Mode.TRAIN
        step = self.recorder.move(None, Mode.EVAL)
        self._evaluated = []
        if step is not None:
            self._step().absorb(step)

    def _before_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._last_mode = Mode.TRAIN
        for mode in (Mode.EVAL, Mode.PREDICT):
            if self.recorder.is_open(mode):
                self._end(mode)
        if any(reference() is optimizer for reference in self._stepped):
            self._end(Mode.TRAIN)
        elif self._next is not None:
            self.recorder.open_step(Mode.TRAIN).absorb(self._next)
            self._next = None
        place = self.optimizers.index(optimizer)
        if id(optimizer) in self._carried:
            self._num_stale += self._carried[id(optimizer)].count()
        step = self.recorder.open_step(Mode.TRAIN)
        for tracked in self.parameters.of(optimizer):
            self.observer.parameter(step, tracked)
        for number, group in enumerate(optimizer.param_groups, self._groups_before(place)):
            if "lr" in group:
                self.observer.scalar(step, f"learning_rate/{number}", group["lr"], "learning_rates")

    def _after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._num_optimizer_steps += 1
        self._train_forward = False
        self._stepped.append(weakref.ref(optimizer))
        self._carried[id(optimizer)] = Carried(self.parameters.of(optimizer))
        stepped = {id(reference()) for reference in self._stepped}
        if all(id(known) in stepped for known in self.optimizers):
            self._end(Mode.TRAIN)

    def _groups_before(self, place: int) -> int:
        known = list(self.optimizers)[:place]
        return sum(len(optimizer.param_groups) for optimizer in known)

    def _end(self, mode: Mode) -> None:
        """End the open step of ``mode``; the one that began meanwhile becomes the open one."""
        if mode is Mode.TRAIN:
            step = self.recorder.open_step(mode)
            if self._stepped:
                for tracked in self.parameters.free():
                    self.observer.parameter(step, tracked)
                stale = float(self._num_stale)
                self.observer.scalar(step, "optimizer/stale_gradients", stale, "optimizer")
            self._num_stale, self._stepped, self._had_backward = 0, [], False
        else:
            self._evaluated = []
        self.observer.finish()
        self.recorder.end_step(mode)
        if mode is Mode.TRAIN and self._next is not None:
            self.recorder.move(self._next, mode)
            self._next = None
        self._on_step(mode)
