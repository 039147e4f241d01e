"""Steps as few evenly spaced ranges: a million of them in a handful of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..record import StepRecord
from ..steps import Mode


@dataclass(frozen=True, slots=True)
class StepRange:
    """Evenly spaced steps of one mode: ``count`` steps, each ``stride`` after the other.

    Args:
        mode: Their mode.
        first: The first global step.
        count: How many. At least 1.
        stride: From one global step to the next; 0 for a single step.
        mode_first: The first mode step.
        mode_stride: From one mode step to the next.
    """

    mode: Mode
    first: int
    count: int
    stride: int
    mode_first: int
    mode_stride: int

    @property
    def last(self) -> int:
        """The last global step."""
        return self.first + (self.count - 1) * self.stride

    @property
    def mode_last(self) -> int:
        """The last mode step."""
        return self.mode_first + (self.count - 1) * self.mode_stride


def step_ranges(records: Sequence[StepRecord]) -> list[StepRange]:
    """Return the steps of some records as few evenly spaced ranges."""
    return join_ranges(
        [StepRange(record.mode, record.step, 1, 0, record.mode_step, 0) for record in records]
    )


def join_ranges(ranges: Iterable[StepRange]) -> list[StepRange]:
    """Return the same steps in as few ranges; the given ones ascend within each mode."""
    joined: list[StepRange] = []
    open_of: dict[Mode, StepRange] = {}
    for new in ranges:
        old = open_of.get(new.mode)
        both = old and _both(old, new)
        if old and not both:
            joined.append(old)
        open_of[new.mode] = both or new
    return sorted([*joined, *open_of.values()], key=lambda range_: range_.first)


def _both(old: StepRange, new: StepRange) -> StepRange | None:
    """Return one range for both, or ``None`` where the second breaks the rhythm of the first."""
    step_gap, mode_gap = new.first - old.first, new.mode_first - old.mode_first
    rhythms = {(r.stride, r.mode_stride) for r in (old, new) if r.count > 1}
    if not rhythms:
        rhythms = {(step_gap, mode_gap)}
    if len(rhythms) > 1:
        return None
    stride, mode_stride = rhythms.pop()
    if (step_gap, mode_gap) != (old.count * stride, old.count * mode_stride):
        return None
    return StepRange(
        old.mode, old.first, old.count + new.count, stride, old.mode_first, mode_stride
    )


def last_complete_in_order(
    ranges: Mapping[str, Sequence[StepRange]], ended: Collection[str], num_workers: int
) -> int:
    """Return the last step that no worker will add to, where each shows its steps in order.

    A worker that shows step ``s`` has then shown all of its steps before ``s``: a step is
    complete when every worker shows it or a later one, or has ended; what is missing then will
    never come.
    """
    last = {
        worker: max((range_.last for range_ in found), default=-1)
        for worker, found in ranges.items()
    }
    running = [step for worker, step in last.items() if worker not in ended]
    missing = num_workers - len(last.keys() | set(ended))
    if missing > 0:
        return -1
    return min(running) if running else max(last.values(), default=-1)
