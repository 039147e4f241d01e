"""Which steps there are and are complete, and in which order a step comes to its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..formats.interface import StepRange
from ..formats.native.observations import text_codes
from ..model.record import StepRecord
from ..model.steps import Mode
from ..numerics.columns import numbers

if TYPE_CHECKING:
    from .trial import Trial

_COLUMNS = ("step", "order", "tensor")


def execution_order(trial: Trial) -> dict[str, int]:
    """Return the tensors of the first step of each mode, numbered as they come there.

    Read are their names alone: a step may hold many thousands.
    """
    found: dict[str, int] = {}
    for mode in trial.modes:
        for name, _ in _in_step(trial, int(trial.global_steps(mode)[0])):
            found.setdefault(name, len(found))
    return found


def rows_in(trial: Trial, steps: Iterable[int]) -> dict[str, int]:
    """Return the first row that each tensor has in one of some global steps."""
    found: dict[str, int] = {}
    for step in steps:
        for name, row in _in_step(trial, step):
            found[name] = min(row, found.get(name, row))
    return found


def _in_step(trial: Trial, step: int) -> Iterator[tuple[str, int]]:
    """Yield the tensors of a global step, and their rows, in the order of these."""
    for _, table in trial.reader.observations(None, _COLUMNS, (Mode.GLOBAL, step)):
        rows = (numbers(table.column("step")) == step).nonzero()[0]
        orders = numbers(table.column("order"))[rows]
        names = text_codes(table.column("tensor"))
        for at in orders.argsort():
            yield names.values[names.codes[rows[at]]], int(orders[at])


def in_order(names: Iterable[str], order: Mapping[str, int]) -> list[str]:
    """Return tensors in an order; those that are not in it come last, by name.

    Example:
        >>> in_order(["b", "a", "loss"], {"loss": 0})
        ['loss', 'a', 'b']
    """
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


Steps = npt.NDArray[np.int64]
_NO_STEPS: Steps = np.empty(0, np.int64)


class StepLog:
    """The steps of a run at one moment.

    Args:
        ranges: The steps that each worker shows.
        last_complete: The last global step that no worker will add to.
    """

    def __init__(
        self,
        ranges: Mapping[str, Sequence[StepRange]],
        last_complete: int,
    ) -> None:
        self._global: dict[Mode, Steps] = {}
        self._within: dict[Mode, Steps] = {}
        every = [range_ for worker_ranges in ranges.values() for range_ in worker_ranges]
        for mode in {range_.mode for range_ in every}:
            self._global[mode], self._within[mode] = _expand([r for r in every if r.mode is mode])
        self.last_complete = last_complete

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that have a step."""
        return tuple(mode for mode in Mode if mode in self._global)

    def global_steps(self, mode: Mode = Mode.GLOBAL, *, incomplete: bool = False) -> Steps:
        """Return the complete global steps of a mode, ascending; GLOBAL is all modes."""
        if mode is Mode.GLOBAL:
            parts = [_NO_STEPS, *self._global.values()]
            found = np.sort(np.concatenate(parts), kind="stable")  # they are in order already
            found = found[np.diff(found, prepend=-1) > 0]
        else:
            found = self._global.get(mode, _NO_STEPS)
        return found if incomplete else found[found <= self.last_complete]

    def steps(self, mode: Mode = Mode.GLOBAL, *, incomplete: bool = False) -> Steps:
        """Return the complete steps as ``mode`` counts them, ascending."""
        found = self.global_steps(mode, incomplete=incomplete)
        return found if mode is Mode.GLOBAL else self._within.get(mode, _NO_STEPS)[: len(found)]

    def to_global(self, step: int, mode: Mode) -> int | None:
        """Return the global step of a step of ``mode``, or ``None`` if it was not saved."""
        within, found = self.steps(mode, incomplete=True), self.global_steps(mode, incomplete=True)
        index = int(np.searchsorted(within, step))
        return int(found[index]) if index < len(within) and within[index] == step else None


def _expand(ranges: Sequence[StepRange]) -> tuple[Steps, Steps]:
    """Return the global steps of some ranges, ascending and each once, and their mode steps."""
    columns = np.array(
        [(r.count, r.first, r.stride, r.mode_first, r.mode_stride) for r in ranges], np.int64
    )
    count, first, stride, mode_first, mode_stride = columns.T
    index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    steps = np.repeat(first, count) + index * np.repeat(stride, count)
    mode_steps = np.repeat(mode_first, count) + index * np.repeat(mode_stride, count)
    if (np.diff(steps) > 0).all():
        return steps, mode_steps
    steps, once = np.unique(steps, return_index=True)  # several workers
    return steps, mode_steps[once]


def by_step(streams: Sequence[Iterator[StepRecord]], last: int) -> Iterator[tuple[StepRecord, ...]]:
    """Join the steps of several workers, ascending, up to and with step ``last``."""
    heads = [next(stream, None) for stream in streams]
    while True:
        steps = [head.step for head in heads if head is not None]
        if not steps or min(steps) > last:
            return
        step = min(steps)
        yield tuple(head for head in heads if head is not None and head.step == step)
        for index, stream in enumerate(streams):
            head = heads[index]
            if head is not None and head.step == step:
                heads[index] = next(stream, None)
