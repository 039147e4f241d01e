"""When a step begins, what belongs to it, and when it ends.

A TRAIN step ends with the update of its trainer. Where several trainers live, it ends once all of
them have updated, or before one of them does so again; what ran since the last of them then
belongs to the step after. Where no trainer holds the model, the script updates it by hand, and
the step ends when the model runs again. An EVAL step is one forward of a model that is not
recorded; it ends when that model runs again, or anything is updated. Steps of modules of symbols
end when one runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from weakref import WeakSet

from mxnet import autograd
from mxnet.gluon import Block, Trainer

from ...capture.open_step import OpenStep
from ...capture.recorder import Recorder
from ...steps import Mode


class Steps:
    """Knows to which step belongs what happens now.

    Args:
        recorder: Who takes the steps.
        trainers: Returns the trainers that hold what ran in a step.
        before_end: Called with a TRAIN step before it ends.
        on_end: Called after each step with its mode.
    """

    def __init__(
        self,
        recorder: Recorder,
        trainers: Callable[[OpenStep], Iterable[Trainer]],
        before_end: Callable[[OpenStep], None],
        on_end: Callable[[Mode], None],
    ) -> None:
        self.mode: Mode | None = None  # what the user said; else it is worked out
        self._recorder = recorder
        self._trainers = trainers
        self._before_end, self._on_end = before_end, on_end
        #: The step after the open one, where something of it ran already.
        self.following: OpenStep | None = None
        self._stepped: WeakSet[Trainer] = WeakSet()
        self._ever_stepped: WeakSet[Trainer] = WeakSet()
        self._waited = False  # a whole step long, for trainers that never updated
        self._updating = self._by_hand = False
        self._evaluated: WeakSet[Block] = WeakSet()
        self._run: Mode | None = None

    def mode_now(self) -> Mode:
        """Return what is done: as the user said, else what is recorded is trained."""
        return self.mode or (Mode.TRAIN if autograd.is_recording() else Mode.EVAL)

    def current(self, mode: Mode) -> OpenStep:
        """Return the step of a mode to which what happens now belongs."""
        if mode is Mode.TRAIN and self._stepped and not self._updating:
            if self.following is None:
                self.following = self._recorder.new_step(mode)
            return self.following
        return self._recorder.open_step(mode)

    def saw_forward(self, model: Block) -> OpenStep:
        """A model begins to run; return the step that it belongs to."""
        mode = self.mode_now()
        if mode is Mode.TRAIN:
            if self._by_hand:
                self.end(mode)
        elif model in self._evaluated and self._recorder.is_open(mode):
            self.end(mode)
        if mode is not Mode.TRAIN:
            self._evaluated.add(model)
        return self.current(mode)

    def saw_run(self, *, trains: bool) -> None:
        """A module of symbols begins to run: a step begins, and that of its last run is over."""
        if self._run is not None:
            self.end(self._run)
        self._run = self.mode or (Mode.TRAIN if trains else Mode.EVAL)

    def of_run(self) -> OpenStep:
        """Return the step of the module of symbols that ran last."""
        return self._recorder.open_step(self._run or Mode.EVAL)

    def updated_by_hand(self) -> None:
        """Gradients were computed that no trainer will use."""
        self._by_hand = True

    def after_bare_backward(self) -> None:
        """Gradients were computed of no model: without trainers nothing else ends the step."""
        if not self._ever_stepped:
            self.end(Mode.TRAIN)

    def before_update(self, trainer: Trainer) -> OpenStep:
        """A trainer is about to update; return the step that it belongs to."""
        for mode in (Mode.EVAL, Mode.PREDICT):
            self.end(mode)
        if trainer in self._stepped:
            self._waited = True
            self.end(Mode.TRAIN)
        step = self._recorder.open_step(Mode.TRAIN)
        if self.following is not None:
            step.absorb(self.following)
            self.following = None
        self._updating = True
        return step

    def after_update(self, trainer: Trainer) -> None:
        """A trainer has updated."""
        self._updating = False
        self._stepped.add(trainer)
        self._ever_stepped.add(trainer)
        expected = self._trainers(self._recorder.open_step(Mode.TRAIN))
        if self._waited:
            expected = [one for one in expected if one in self._ever_stepped]
        if all(one in self._stepped for one in expected):
            self.end(Mode.TRAIN)

    def end(self, mode: Mode) -> None:
        """End the step of a mode, if one is open; what began meanwhile becomes the open one."""
        if not self._recorder.is_open(mode):
            return
        if mode is Mode.TRAIN:
            self._before_end(self._recorder.open_step(mode))
            self._stepped.clear()
            self._by_hand = self._updating = False
        else:
            self._evaluated.clear()
        self._recorder.end_step(mode)
        if mode is Mode.TRAIN and self.following is not None:
            self._recorder.move(self.following, mode)
            self.following = None
        self._on_end(mode)

    def close(self) -> None:
        """End what is open: what was observed before training broke off is still told."""
        # TRAIN twice: the step that began meanwhile is open once the first has ended.
        for mode in (Mode.TRAIN, Mode.TRAIN, Mode.EVAL, Mode.PREDICT):
            self.end(mode)
