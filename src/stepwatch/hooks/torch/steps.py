"""When a step begins, what belongs to it, and when it ends.

A TRAIN step ends with its optimizers' step. Where several optimizers live, the step ends once
all of them have stepped, or before one of them steps again; what ran since the last of them then
belongs to the step after. Where none holds the model, the script updates it by hand, and the step
ends when the model runs again. An EVAL step is one forward of a model in eval mode or without
gradients; it ends when that model runs again, or anything is trained.

A TRAIN step that is over may be held open until something runs: what a script saves after
``optimizer.step()`` then belongs to the step that its author means.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable

import torch

from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...model.steps import Mode
from .models import Optimizers
from .observe import Observer


class Steps:
    """Knows to which step belongs what happens now.

    Args:
        before_end: Called with a TRAIN step in which an optimizer stepped, before it ends,
        before_end_by_hand: and with one of whose gradients no optimizer made use.
        on_end: Called after each step with its mode.
        hold: Hold a TRAIN step that is over until something runs.
    """

    def __init__(
        self,
        recorder: Recorder,
        observer: Observer,
        optimizers: Optimizers,
        before_end: Callable[[OpenStep], None],
        before_end_by_hand: Callable[[OpenStep], None],
        on_end: Callable[[Mode], None],
        *,
        hold: bool = False,
    ) -> None:
        self.mode: Mode | None = None  # what the user said; else it is worked out
        self._recorder = recorder
        self._observer = observer
        self._optimizers = optimizers
        self._before_end, self._before_end_by_hand = before_end, before_end_by_hand
        self._on_end = on_end
        #: Hold a TRAIN step that is over until something runs.
        self.hold = hold
        #: Whether a step is held that went as usual, which is not open.
        self.is_usual_held = False
        self._held = False
        self._last_mode = Mode.TRAIN
        self._next: OpenStep | None = None
        self._stepped: list[weakref.ref[torch.optim.Optimizer]] = []
        #: Whether steps ended as one of several optimizers stepped again before all of them had.
        self.is_uneven = False
        self._waited = False  # a whole step long, for optimizers that never stepped
        self._in_optimizer = False
        self._evaluated: list[int] = []
        self._eval_trains = False
        self._by_hand = False  # gradients were computed that no optimizer will use
        self._train_forward = False  # a model ran to be trained since the last optimizer step

    @property
    def last_mode(self) -> Mode:
        return self._last_mode

    @property
    def is_held(self) -> bool:
        """Whether the open TRAIN step is over, and held."""
        return self._held

    @property
    def is_over(self) -> bool:
        """Whether what is trained now belongs to the step after the open one, as far as known."""
        return bool(self._stepped) and not (self._in_optimizer or self._held)

    @property
    def last_trained(self) -> tuple[int, int] | None:
        """The global and the mode step of the TRAIN step that is just over; ``None`` within one."""
        number, mode_step = self._recorder.counter.peek(Mode.TRAIN)
        if self._held or self.is_usual_held:
            return number, mode_step  # it is counted when it is handed on
        if self._recorder.is_open(Mode.TRAIN) or mode_step == 0:
            return None
        return number - 1, mode_step - 1

    @property
    def num_trained(self) -> int:
        """How many TRAIN steps have been taken."""
        last = self.last_trained
        return self._recorder.counter.peek(Mode.TRAIN)[1] if last is None else last[1] + 1

    @property
    def is_updated_by_hand(self) -> bool:
        """Whether gradients were computed that the script makes use of, and no optimizer."""
        return self._by_hand

    @property
    def in_optimizer(self) -> bool:
        """Whether an optimizer is in its step; what runs now is its closure."""
        return self._in_optimizer

    @property
    def goes_by_optimizer(self) -> bool:
        """Whether a TRAIN step is over, and the next ends with the next step of an optimizer."""
        return (
            self.mode in (None, Mode.TRAIN)
            and self._last_mode is Mode.TRAIN
            and not (self._by_hand or self._next)
            and (self._held or not (self._stepped or self._recorder.is_open(Mode.TRAIN)))
        )

    @property
    def awaited(self) -> list[torch.optim.Optimizer]:
        """The optimizers at whose step each a TRAIN step is over; none where some share groups."""
        awaited = list(self._expected())
        groups = sum(len(one.param_groups) for one in awaited)
        return awaited if groups == len(_groups(awaited)) else []

    def continue_step(self, model: torch.nn.Module, mode: Mode) -> None:
        """A model has run in a TRAIN or EVAL step that goes on, which was not noted."""
        self._last_mode = mode
        if mode is Mode.TRAIN:
            self._train_forward = True
        else:
            self._evaluated.append(id(model))

    def has_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether an optimizer has stepped in the open step: it ends with the next."""
        return any(reference() is optimizer for reference in self._stepped)

    def current(self, mode: Mode | None = None) -> OpenStep:
        """Return the step to which what happens now belongs; or that which is open in a mode."""
        if mode is not None:
            return self._recorder.open_step(mode)
        if self._stepped and self._last_mode is Mode.TRAIN and self.is_over:
            if self._next is None:
                self._next = self._recorder.new_step(Mode.TRAIN)
            return self._next
        # Asked for each module that returns.
        return self._recorder.opened.get(self._last_mode) or self._recorder.open_step(
            self._last_mode
        )

    def evaluation(self) -> OpenStep:
        """Return the step to which belongs what ran without gradients, unseen."""
        return self._recorder.open_step(self.mode or Mode.EVAL)

    def mode_of(self, model: torch.nn.Module) -> Mode:
        """Return what a model would run for now: as the user said, else it is worked out."""
        trains = torch.is_grad_enabled() and (model.training or self._eval_trains)
        return self.mode or (Mode.TRAIN if trains else Mode.EVAL)

    def on_forward(self, model: torch.nn.Module) -> Mode:
        """A model begins to run; return what for."""
        self.release()
        if self._by_hand:
            self.end(Mode.TRAIN)
        mode = self._last_mode = self.mode_of(model)
        if mode is Mode.TRAIN:
            self._train_forward = True
        else:
            if self._recorder.is_open(mode) and id(model) in self._evaluated:
                self.end(mode)
            self._evaluated.append(id(model))
        return mode

    def on_loss(self, value: torch.Tensor) -> None:
        """A loss was computed: a teacher may have run last, but this may be the student's."""
        self.release()
        if value.requires_grad and self._train_forward and self.mode is None:
            self._last_mode = Mode.TRAIN

    def before_backward(self) -> None:
        """Gradients are about to be computed: something is trained."""
        self.release()
        if self._last_mode is Mode.EVAL and self.mode is None:
            if self._train_forward:
                self._last_mode = Mode.TRAIN
            else:
                self._take_eval_for_train()

    def after_backward(self, *, by_hand: bool) -> None:
        """Gradients were computed, and the script may do the update by hand."""
        self._by_hand = by_hand

    def before_optimizer(self, optimizer: torch.optim.Optimizer) -> OpenStep:
        """An optimizer is about to step; return the step that it belongs to."""
        self.release()
        self._last_mode = Mode.TRAIN
        for mode in (Mode.EVAL, Mode.PREDICT):
            if self._recorder.is_open(mode):
                self.end(mode)
        if self.has_stepped(optimizer):
            self.is_uneven = self._waited and bool(self._missing_groups())
            self._waited = True
            self.end(Mode.TRAIN)
        elif self._next is not None:
            self._absorb(self._next)
            self._next = None
        self._in_optimizer = True
        return self._recorder.open_step(Mode.TRAIN)

    def after_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._in_optimizer = self._train_forward = False
        self._stepped.append(weakref.ref(optimizer))
        if not self._missing_groups():
            if not self.hold:
                self.end(Mode.TRAIN)
                return
            self._before_end(self._recorder.open_step(Mode.TRAIN))
            self._held = True

    def end(self, mode: Mode) -> None:
        """End the open step of ``mode``; the one that began meanwhile becomes the open one."""
        if mode is Mode.TRAIN:
            if self._stepped and not self._held:
                self._before_end(self._recorder.open_step(mode))
            elif self._by_hand:
                self._before_end_by_hand(self._recorder.open_step(mode))
            self._stepped, self._by_hand, self._held = [], False, False
        else:
            self._evaluated = []
        self._observer.finish()
        self._recorder.end_step(mode)
        if mode is Mode.TRAIN and self._next is not None:
            self._recorder.move(self._next, mode)
            self._next = None
        self._on_end(mode)

    def close(self) -> None:
        """End what is open: what was observed before training broke off is still recorded."""
        self._in_optimizer = False
        for mode in (Mode.TRAIN, Mode.TRAIN, Mode.EVAL, Mode.PREDICT):
            # TRAIN twice: the step that began meanwhile is open once the first has ended.
            if self._recorder.is_open(mode) or (mode is Mode.TRAIN and self._next is not None):
                self.end(mode)

    def release(self) -> None:
        """Something runs: the step that is over is no longer held."""
        if self._held:
            self.end(Mode.TRAIN)

    def _missing_groups(self) -> set[int]:
        """Return the groups that have yet to step; an optimizer inside of another shares its."""
        alive = [known for reference in self._stepped if (known := reference()) is not None]
        return _groups(self._expected()) - _groups(alive)

    def _expected(self) -> Iterable[torch.optim.Optimizer]:
        # Whoever did not step in the first step may never do so, and is waited for no more.
        return self._optimizers.stepped if self._waited else self._optimizers

    def _take_eval_for_train(self) -> None:
        """The model trains in eval mode: what was taken for an evaluation is a step."""
        self._eval_trains = True
        self._last_mode = Mode.TRAIN
        step = self._recorder.move(None, Mode.EVAL)
        self._evaluated = []
        if step is not None:
            self._absorb(step, self.current())

    def _absorb(self, step: OpenStep, into: OpenStep | None = None) -> None:
        self._observer.finish()  # what is still on an accelerator belongs to ``step``
        (into or self._recorder.open_step(Mode.TRAIN)).absorb(step)


def _groups(optimizers: Iterable[torch.optim.Optimizer]) -> set[int]:
    return {id(group) for optimizer in optimizers for group in optimizer.param_groups}
