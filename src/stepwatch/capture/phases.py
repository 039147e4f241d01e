"""What a step spends its time on: at each moment a training is in one phase.

So the phases of a step always sum to it, whatever happens in it.
"""

from __future__ import annotations

from itertools import pairwise

from ..formats.profile.tables import Span
from ..steps import Mode, StepCounter
from .spans import Spans

# Of a step that never ends the rest is told as one.
_MOST_TURNS = 10_000


class Phases:
    """Cuts the time of the training thread into phases, and those into steps.

    Args:
        spans: Who takes them.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        #: Numbers the steps; that of the recorder.
        self.counter = StepCounter()
        self._ticks = spans.clock.ticks
        #: Whether anything is taken.
        self.on = False
        self._began: int | None = None
        #: From when on which phase lasts, ascending.
        self._turns: list[tuple[int, str]] = []
        self._told = -1

    def turn(self, phase: str, ago_ns: int = 0) -> None:
        """Another phase begins, or has begun so long ago."""
        if not self.on or len(self._turns) >= _MOST_TURNS:
            return
        start = self._ticks() - ago_ns
        if self._began is None:
            self._began = start
        after = self._turns[-1][0] if self._turns else self._began
        self._turns.append((max(start, after), phase))

    def waited(self, seconds: float) -> None:
        """The next batch of data was waited for, up to now."""
        self.turn("data", ago_ns=int(seconds * 1e9))
        self.turn("other")

    def end(self, mode: Mode, step: int | None = None) -> None:
        """What has passed since the last end was a step; by default the one that is open."""
        self._told = self.counter.peek(mode)[0] if step is None else step
        self._end(mode, self._told)

    def took(self, mode: Mode, step: int) -> None:
        """A step was handed on; if nobody has told when it ended, it ended now."""
        if self._told < 0 or (mode is Mode.TRAIN and self._told != step):
            self._end(mode, step)

    def skip(self) -> None:
        """What has passed since the last end was no step."""
        self._begin(self._ticks())

    def pause(self) -> None:
        """Nothing is heard from here on: the time that passes belongs to no step."""
        self._began = None
        self._turns.clear()

    def _end(self, mode: Mode, step: int) -> None:
        now, name = self._ticks(), mode.value
        if self.on and self._began is not None:
            self._spans.add(Span(self._began, now - self._began, "step", name, name, step))
            turns = [(self._began, "other"), *self._turns, (now, "")]
            for (start, phase), (stop, _) in pairwise(turns):
                if stop > start:
                    self._spans.add(Span(start, stop - start, "phase", phase, name, step))
        self._begin(now)

    def _begin(self, now: int) -> None:
        self._began = now
        self._turns.clear()
