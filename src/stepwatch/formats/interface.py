"""What readers and writers of runs have in common, whatever the format.

Steps are kept as a few evenly spaced ranges: a million of them in a handful of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..model.record import ScalarSteps, StepRecord
from ..model.steps import Mode

if TYPE_CHECKING:
    from .manifest import End, Manifest
    from .smdebug.collections import Stored


P = TypeVar("P")
FAN_IN = 10


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


def step_ranges(records: Sequence[StepRecord | ScalarSteps]) -> list[StepRange]:
    """Return the steps of some records as few evenly spaced ranges."""
    return join_ranges(range_ for one in records for range_ in _even_ranges(one))


def _even_ranges(steps: StepRecord | ScalarSteps) -> Iterator[StepRange]:
    if isinstance(steps, StepRecord):
        yield StepRange(steps.mode, steps.step, 1, 0, steps.mode_step, 0)
        return
    numbers = steps.numbers[:, :2]
    gaps = np.diff(numbers, axis=0)
    start = 0
    for at in (np.flatnonzero((gaps[1:] != gaps[:-1]).any(1)) + 1).tolist():
        if at > start:
            yield _range_of(steps.mode, numbers[start : at + 1])
            start = at + 1
    if start < len(numbers):
        yield _range_of(steps.mode, numbers[start:])


def _range_of(mode: Mode, numbers: npt.NDArray[np.int64]) -> StepRange:
    """Return evenly spaced steps, shape ``[steps, 2]``, as a range."""
    first, mode_first = numbers[0].tolist()
    stride, mode_stride = (numbers[1] - numbers[0]).tolist() if len(numbers) > 1 else (0, 0)
    return StepRange(mode, first, len(numbers), stride, mode_first, mode_stride)


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


class LevelMerger(Generic[P]):
    """Merges the parts of one writer: ``FAN_IN`` of one level become one of the next.

    Args:
        merge: Replaces consecutive parts by one, which it returns.
    """

    def __init__(self, merge: Callable[[list[P]], P]) -> None:
        self._merge = merge
        # Neighbours with their levels, in order. A part that is not here stays as it is.
        self._parts: list[tuple[P, int]] = []

    def add(self, part: P) -> None:
        """Take a new part, which follows the ones before, and merge what is due."""
        new: tuple[P, int] | None = (part, 0)
        while new is not None:
            self._parts.append(new)
            new = self._merge_due(new[1])

    def _merge_due(self, level: int) -> tuple[P, int] | None:
        """Merge the parts of ``level`` at the end; return the new one if it may grow on."""
        before, due = self._split(level)
        if len(due) < FAN_IN:
            return None
        self._parts = []  # should merging fail, these stay as they are
        merged = self._merge(due)
        self._parts = before
        return merged, level + 1

    def _split(self, level: int) -> tuple[list[tuple[P, int]], list[P]]:
        """Return the parts before those of ``level`` at the end, and these."""
        start = len(self._parts)
        while start and self._parts[start - 1][1] == level:
            start -= 1
        return self._parts[:start], [part for part, _ in self._parts[start:]]


class Located(NamedTuple):
    """Where a full value lies: of which worker and step, and in which file if in one.

    Of a shard also where it begins in the whole tensor, and the shape of the whole.
    """

    worker: str
    step: int
    mode_step: int
    blob: str | None
    offset: tuple[int, ...] | None = None
    shape: tuple[int, ...] = ()


class RunReader(Protocol):
    """Reads a run, while it is being written or years later.

    It shows the run as of its last ``refresh``. Bytes that cannot be what a writer wrote raise
    ``CorruptRun`` with key and offset.
    """

    @property
    def manifest(self) -> Manifest:
        """What the run is."""

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote so far."""

    def refresh(self) -> None:
        """Read what was written since."""

    def ends(self) -> dict[str, End]:
        """Return how each worker's part ended, for those that ended."""

    def last_complete(self, ended: Collection[str], num_workers: int) -> int:
        """Return the last global step that no worker will add to; -1 if there is none.

        Args:
            ended: Workers that will write no more.
            num_workers: How many workers the run has.
        """

    def step_ranges(self, worker: str) -> list[StepRange]:
        """Return the steps that a worker wrote."""

    def tensors(self) -> dict[str, str]:
        """Return the collection of every tensor, in the order of names."""

    def observations(
        self,
        tensors: frozenset[str] | None = None,
        columns: Sequence[str] | None = None,
        step: tuple[Mode, int] | None = None,
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield worker and rows of some tensors (all by default), with these columns.

        Args:
            tensors: Names; more rows may come where that costs nothing.
            columns: Of ``observations.SCHEMA``; all by default.
            step: Only rows that may be of this step, as its mode counts it.
        """

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> Iterator[Located]:
        """Yield where the values of a tensor lie.

        Args:
            tensor: Its name.
            mode: Only steps of this mode; GLOBAL for all.
            worker: Only this one's; ``None`` for all.
            step: Rows of other steps than this one, as ``mode`` counts it, may be left out.
        """

    def records(self, worker: str, after: int = -1) -> Iterator[StepRecord]:
        """Yield the steps of a worker that follow step ``after``, ascending."""

    def raw(self, worker: str, blob: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value, of a row whose column ``blob`` says where it lies."""


#: What of a tensor is stored at a step: of this name, mode and step within the mode.
StoredAt = Callable[[str, Mode, int], "Stored | None"]


class RunWriter(Protocol):
    """Writes one worker's part of a run. Everything here runs on the background thread.

    It may have ``write_scalars(steps)``, called in place of ``write`` with steps in a row, a
    ``ScalarSteps``.
    """

    @property
    def lost(self) -> int:
        """How many steps could not be stored."""

    def write(self, record: StepRecord) -> None:
        """Take a step, later than the ones before."""

    def tick(self) -> None:
        """Store what waited long enough; called a few times a second."""

    def flush(self) -> None:
        """Store the steps that were written."""

    def close(self, end: End) -> None:
        """Store what is left, then the note that says how the run ended."""


def worker_order(worker: str) -> tuple[int, str]:
    """Return what workers are sorted by: the number at the end of the name.

    Example:
        >>> sorted(["worker_10", "worker_9"], key=worker_order)
        ['worker_9', 'worker_10']
    """
    digits = worker.rpartition("_")[2]
    return (int(digits) if digits.isdigit() else 0, worker)
