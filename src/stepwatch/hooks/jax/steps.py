"""When a step begins and ends, and what belongs to it.

Each call that computes gradients and is no part of another call is a TRAIN step, and each other
one in which modules ran an EVAL step. JAX returns before it has computed: what a call has seen is
read once the next one was handed over, so that the device never waits for us. A step is open until
then, and what a script saves meanwhile belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...capture.guard import guarded
from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, STATISTICS
from ...capture.recorder import Recorder
from ...steps import Mode
from .seen import Part, Seen, on_host, steps_in
from .words import rows_of

_OF_THE_USER = frozenset({"scalars", "tensors"})


class Steps:
    """Knows to which step belongs what was seen.

    Args:
        recorder: Who takes the steps.
        on_end: Called after each step with its mode.
        stop_if_asked: Called before each call that is no part of another; what it raises reaches
            the training.
        detach: Lets go of JAX.
        strict: Raise our own failures into training.
    """

    def __init__(
        self,
        recorder: Recorder,
        on_end: Callable[[Mode], None],
        stop_if_asked: Callable[[], None],
        detach: Callable[[], None],
        *,
        strict: bool,
    ) -> None:
        self.strict, self.failure, self.detach = strict, "", detach
        self._recorder, self._on_end, self._stop_if_asked = recorder, on_end, stop_if_asked
        #: What the user said; else it is worked out.
        self.mode: Mode | None = None
        self.last_mode = Mode.TRAIN
        self._pending: list[Seen] = []
        self._is_one = False

    def before_call(self) -> None:
        """A call begins that is no part of another."""
        self._stop_if_asked()

    @contextmanager
    def one(self, mode: Mode) -> Iterator[None]:
        """Make one step of all calls inside."""
        self.settle()
        before, self.mode, self.last_mode = self.mode, mode, mode
        self._is_one = True
        try:
            yield
        finally:
            self.mode, self._is_one = before, False

    @guarded
    def take(self, seen: Seen) -> Mode | None:
        """Take what a call has seen, and read what the one before had; return its mode."""
        if not seen:
            return None
        if not self._is_one and not (self._pending and seen.kinds <= _OF_THE_USER):
            self.settle()
            self.last_mode = self.mode or (Mode.TRAIN if seen.trains else Mode.EVAL)
        self._recorder.open_step(self.last_mode)  # what is saved from here on belongs to it
        self._pending.append(seen)
        return self.last_mode

    @guarded
    def settle(self) -> None:
        """Read what is waiting, and end the step that it belongs to."""
        pending, self._pending = self._pending, []
        for number, seen in enumerate(pending):
            *before, last = steps_in(on_host(seen))
            for parts in before:
                self._fill(parts)
                self._end()
            self._fill(last)
            if number == len(pending) - 1:
                self._end()

    def forget(self) -> None:
        """Forget what was not read."""
        self._pending = []

    def _fill(self, parts: list[Part]) -> None:
        step = self._recorder.open_step(self.last_mode)
        for part in parts:
            rows = rows_of(part.words, part.infos)
            for place, info in enumerate(part.infos):
                level = step.level(info)
                if level != NOTHING:
                    step.add_statistics(info, rows[place])
                if level > STATISTICS and place in part.whole:
                    _add_whole(step, part, place, level)

    def _end(self) -> None:
        self._recorder.end_step(self.last_mode)
        self._on_end(self.last_mode)


def _add_whole(step: OpenStep, part: Part, place: int, level: int) -> None:
    step.add_more(part.infos[place], part.whole[place], level)
