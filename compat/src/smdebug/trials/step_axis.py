"""The steps of a trial: which there are, which are complete, and what their numbers mean."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from smdebug.core.modes import ModeKeys, from_mode, to_mode
from smdebug.core.tensor import StepState
from smdebug.core.utils import step_in_range
from smdebug.trials.evidence import EVERYTHING, Span
from stepwatch.formats.step_range import StepRange
from stepwatch.steps import Mode
from stepwatch.trial.steplog import StepLog


class StepAxis:
    """The steps of a trial at one moment.

    Args:
        ranges: The steps that each worker shows.
        last_complete: The last global step that no worker will add to; -1 for none.
        span: Which global steps to look at.
    """

    def __init__(
        self,
        ranges: Mapping[str, Sequence[StepRange]],
        last_complete: int,
        span: Span = EVERYTHING,
    ) -> None:
        self._log = StepLog(ranges, last_complete)
        self._span = span
        # By mode, and whether incomplete ones are among them.
        self._kept: dict[tuple[ModeKeys, bool], tuple[list[int], list[int]]] = {}
        complete = self.steps(ModeKeys.GLOBAL)
        #: The last complete global step; -1 for none.
        self.last_complete = complete[-1] if complete else -1

    def steps(self, mode: ModeKeys, *, incomplete: bool = False) -> list[int]:
        """Return the steps as ``mode`` counts them, ascending. Do not change it."""
        return self._columns(mode, incomplete)[0]

    def to_global(self, step: int, mode: ModeKeys) -> int | None:
        """Return the global step of a step of ``mode``; ``None`` if there is no such step."""
        counted, numbers = self._columns(mode, True)
        place = bisect_left(counted, step)
        return numbers[place] if place < len(counted) and counted[place] == step else None

    def modes(self) -> list[ModeKeys]:
        """Return the modes that have a step, but for ``GLOBAL``."""
        found = [from_mode(mode) for mode in self._log.modes if mode is not Mode.GLOBAL]
        return [mode for mode in found if self.steps(mode, incomplete=True)]

    def mode_modestep(self, step: int) -> tuple[ModeKeys, int] | None:
        """Return mode and mode step of a global step; ``None`` if there is no such step."""
        for mode in self.modes():
            counted, numbers = self._columns(mode, True)
            place = bisect_left(numbers, step)
            if place < len(numbers) and numbers[place] == step:
                return mode, counted[place]
        known = self.to_global(step, ModeKeys.GLOBAL) is not None
        return (ModeKeys.GLOBAL, step) if known else None

    def state(self, step: int, mode: ModeKeys, *, ended: bool) -> StepState:
        """Return whether a step is there, will never be, or may still come.

        Args:
            step: As ``mode`` counts it.
            mode: Which count.
            ended: Whether nothing more will be written.
        """
        known = self.steps(mode, incomplete=True)
        place = bisect_left(known, step)
        if place == len(known):
            return StepState.UNAVAILABLE if ended else StepState.NOT_YET_AVAILABLE
        found = self.to_global(known[place], mode)
        if not ended and found is not None and found > self.last_complete:
            return StepState.NOT_YET_AVAILABLE
        return StepState.AVAILABLE if known[place] == step else StepState.UNAVAILABLE

    def _columns(self, mode: ModeKeys, incomplete: bool) -> tuple[list[int], list[int]]:
        """Return the steps of a mode as it counts them, and their global numbers."""
        if (mode, incomplete) not in self._kept:
            ours = to_mode(mode)
            counted = self._log.steps(ours, incomplete=incomplete).tolist()
            numbers = self._log.global_steps(ours, incomplete=incomplete).tolist()
            pairs = zip(counted, numbers, strict=True)
            within = [pair for pair in pairs if step_in_range(self._span, pair[1])]
            self._kept[mode, incomplete] = ([a for a, _ in within], [b for _, b in within])
        return self._kept[mode, incomplete]
