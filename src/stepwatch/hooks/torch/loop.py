"""How the training loop itself runs: its time, its passes, its optimizers and schedules.

Wall time is cut into intervals, each of one step. A TRAIN step has the time since the interval
before, up to its optimizers. Between TRAIN steps each forward that evaluates the model which is
trained has an interval of its own, so that a validation is in no TRAIN step. A teacher's forward
is time of the step around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import perf_counter

import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.optim.lr_scheduler import LRScheduler

from ...capture.open_step import OpenStep
from ...capture.phases import Phases
from ...steps import Mode
from .observe import Observer
from .ranks import is_one_of_several
from .scalars import Scalars
from .schedulers import Schedules
from .weights_of_losses import LossWeights

_COLLECTION = "loop"
# Dropout that other libraries call by these names.
_DROPS = ("DropPath", "StochasticDepth")


class Loop:
    """Observes the training loop, in the collection ``loop``.

    Args:
        observer: Who takes the numbers.
        scalars: Who takes those that may be on an accelerator, of TRAIN steps.
        phases: Who is told what the time is spent on.
    """

    def __init__(self, observer: Observer, scalars: Scalars, phases: Phases) -> None:
        self._observer, self._phases = observer, phases
        self._scalars = scalars
        self._weights = LossWeights()
        self._depends: dict[type, bool] = {}
        self._num_modules = self._num_in_eval = 0
        self._began_at: float | None = None
        self._is_training = False
        self._waited_s: float | None = None
        self._backward_at: float | None = None
        self._num_backwards = self._num_optimizer_steps = 0
        self._num_unused = self._num_lost = 0
        self._schedules = Schedules()
        #: What a gradient scaler multiplied the losses of the open step by.
        self.loss_scale: torch.Tensor | None = None

    def pause(self) -> None:
        """Nothing is heard from here on: the time that passes belongs to no step."""
        self._began_at, self._is_training = None, False
        self._phases.pause()

    def begin(self, step: OpenStep) -> None:
        """A model begins to run."""
        self._num_modules = self._num_in_eval = 0
        self._is_training |= step.mode is Mode.TRAIN
        self._phases.turn("forward")

    def enter(self, module: torch.nn.Module) -> None:
        """A module inside of the model begins to run."""
        kind = type(module)
        depends = self._depends.get(kind)
        if depends is None:
            depends = self._depends[kind] = _depends_on_mode(kind)
        if depends and getattr(module, "p", True):
            self._num_modules += 1
            self._num_in_eval += not module.training

    def leave(self, step: OpenStep, *, is_trained: bool) -> None:
        """The model returned.

        Args:
            step: Its step.
            is_trained: Whether this model is the one, or one of those, that are trained.
        """
        evaluates = is_trained and step.mode is not Mode.TRAIN and not self._is_training
        if evaluates:
            self._phases.end(step.mode)
        if not step.wants(_COLLECTION):
            return
        if self._num_modules:
            in_train = self._num_modules - self._num_in_eval
            self._add(step, "modules", self._num_modules)
            if step.mode is Mode.TRAIN:
                self._add(step, "modules_in_eval", self._num_in_eval)
            else:
                self._add(step, "modules_in_train", in_train)
        if evaluates:
            self._end_interval(step)

    def saw_loss(self, step: OpenStep, value: torch.Tensor) -> None:
        """A loss was computed."""
        if step.mode is Mode.TRAIN and step.wants(_COLLECTION):
            self._weights.watch(value)

    def before_backward(self) -> None:
        """Gradients are about to be computed."""
        self._weights.is_in_backward = True
        self._phases.turn("backward")
        if self._backward_at is None:
            self._backward_at = perf_counter()

    def after_backward(self) -> None:
        """Gradients were computed, or failed to be."""
        self._weights.is_in_backward = False
        self._phases.turn("other")
        self._num_backwards += 1
        self._num_unused += 1

    def zeroed(self) -> None:
        """Gradients were set to zero: what no optimizer used of them is lost."""
        self._num_lost += self._num_unused
        self._num_unused = 0

    def waited(self, seconds: float) -> None:
        """A data loader was waited for."""
        self._waited_s = (self._waited_s or 0.0) + seconds
        self._phases.waited(seconds)

    def scheduled(self, scheduler: LRScheduler, *, is_new: bool) -> None:
        """A schedule of learning rates took a step, or was made."""
        self._schedules.add(scheduler, is_new=is_new)

    def saw_rate(self, group: Mapping[str, object]) -> None:
        """A parameter group is about to be updated whose learning rate a schedule sets."""
        self._schedules.saw_rate(group)

    def updates(self) -> None:
        """An optimizer is about to step, and was looked at."""
        self._phases.turn("optimizer")

    def stepped(self) -> None:
        """An optimizer stepped."""
        self._phases.turn("other")
        self._num_optimizer_steps += 1
        self._num_unused = 0

    def complete(self, step: OpenStep) -> None:
        """A TRAIN step ends."""
        self._phases.end(Mode.TRAIN)
        weights, num_backwards = self._weights.take(self.loss_scale), self._num_backwards
        num_lost, self._num_lost = self._num_lost, 0
        self.loss_scale, self._num_backwards, self._is_training = None, 0, False
        if not step.wants(_COLLECTION):
            self._end_interval(None)
            return
        self._end_interval(step)
        self._add(step, "backwards", num_backwards)
        # What says nothing in an ordinary training is left out: each number costs microseconds.
        if num_lost:
            self._add(step, "backwards_lost", num_lost)
        if self._weights.num_graphs > 1:
            self._add(step, "graphs", self._weights.num_graphs)
        if num_backwards:
            self._add(step, "loss_weight", math.nan if weights is None else weights)
        self._add(step, "optimizer_steps", self._num_optimizer_steps)
        for name, value in self._schedules.numbers():
            self._add(step, name, value)

    def _end_interval(self, step: OpenStep | None) -> None:
        """Let the time that passed be that of a step, or of none."""
        now = perf_counter()
        if step is not None and self._began_at is not None:
            self._add(step, "step_seconds", now - self._began_at)
            if self._waited_s is not None:
                self._add(step, "data_wait_seconds", self._waited_s)
            if self._backward_at is not None and is_one_of_several():
                self._add(step, "forward_seconds", self._backward_at - self._began_at)
        self._began_at, self._backward_at = now, None
        self._waited_s = None if self._waited_s is None else 0.0

    def _add(self, step: OpenStep, name: str, value: float | torch.Tensor) -> None:
        if isinstance(value, torch.Tensor):
            self._scalars.add(step, f"loop/{name}", _COLLECTION, value)
        else:
            self._observer.scalar(step, f"loop/{name}", value, _COLLECTION)


def _depends_on_mode(kind: type) -> bool:
    """Return whether modules of a class compute something else in training than in evaluation."""
    return issubclass(kind, (_DropoutNd, _BatchNorm)) or kind.__name__ in _DROPS
