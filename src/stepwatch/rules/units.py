"""Units of activations: how large a share of their values does something, and who has too few.

A unit is an index along one axis: a channel, or a feature. Its activity is the share of its
values, over all other axes, for which a condition holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from .checks import listed
from .rule import Findings, Rule
from .scope import Selection, within
from .step_view import StepView

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.generic]
Shares = dict[str, Floats]


def unit_shares(
    value: Array, holds: Callable[[Floats], npt.NDArray[np.bool_]], axis: int | None = None
) -> Floats | None:
    """Return the activity of each unit.

    Args:
        value: Shape ``[batch, units, ...]`` or, of rank 3, ``[batch, length, units]``.
        holds: The condition, of the values as float64.
        axis: Where the units are, if elsewhere.

    Returns:
        Shape ``[units]``, float64, between 0 and 1; ``None`` where there is nothing to take a
        share of: below rank 2, or empty.
    """
    if value.ndim < 2 or not value.size:
        return None
    units = (2 if value.ndim == 3 else 1) if axis is None else axis
    if not -value.ndim <= units < value.ndim:
        return None
    with np.errstate(invalid="ignore"):
        which = np.moveaxis(holds(value.astype(np.float64)), units, 0)
    return np.asarray(which.reshape(len(which), -1).mean(axis=1), np.float64)


def cannot_fire(share: float, inactivity: float, layer: float) -> bool:
    """Return whether so large a share of all values proves that a layer is well.

    If more than a fraction ``layer`` of the units were active on less than ``inactivity``, the
    share of all values would be below ``1 - layer * (1 - inactivity)``.

    Args:
        share: Of all values of the layer, between 0 and 1.
        inactivity: As a fraction of 1.
        layer: As a fraction of 1.
    """
    return share >= 1 - layer * (1 - inactivity)


def merged(found: Iterable[Shares]) -> Shares:
    """Return the mean over workers of the shares of each tensor.

    Where workers have different units, as shards do, those of the first.
    """
    together: dict[str, list[Floats]] = {}
    for shares in found:
        for name, one in shares.items():
            together.setdefault(name, []).append(one)
    return {
        name: parts[0] if len({len(one) for one in parts}) > 1 else np.mean(parts, axis=0)
        for name, parts in together.items()
    }


def raw_values(step: StepView, selection: Selection) -> Iterator[tuple[str, str, Array]]:
    """Yield worker, name and value of each selected tensor whose full value was saved."""
    for group, names in selection.groups(step):
        raw = group.record.raw
        saved = frozenset(raw) if raw else frozenset()
        for name in names:
            if name in saved:
                yield group.record.worker, name, raw[name]


class Inactive(NamedTuple):
    """A layer of which too many units hardly do anything; ``percent`` of ``units``."""

    name: str
    percent: float
    units: int


class Layers:
    """Finds layers of too many inactive units, over the last steps at which each was seen.

    Args:
        inactivity: A unit is inactive below this activity, in percent.
        layer: A layer is if more than this percentage of its units are.
        window: Over so many steps.
    """

    def __init__(self, inactivity: float, layer: float, window: int = 1) -> None:
        self._limit, self._layer = inactivity / 100, layer
        self._window = window
        self._past: dict[str, deque[Floats]] = {}

    def add(self, shares: Mapping[str, Floats]) -> list[Inactive]:
        """Take in what was seen at a step and return the layers that are inactive now."""
        if self._window > 1:
            pooled = {name: self._pooled(name, one) for name, one in shares.items()}
            shares = {name: one for name, one in pooled.items() if one is not None}
        if not shares:
            return []
        sizes = np.array([len(one) for one in shares.values()])
        inactive = np.concatenate(list(shares.values())) < self._limit
        starts = np.cumsum(sizes) - sizes
        percents = 100.0 * np.add.reduceat(inactive.astype(np.int64), starts) / sizes
        names = list(shares)
        return [
            Inactive(names[one], float(percents[one]), int(sizes[one]))
            for one in np.flatnonzero(percents > self._layer)
        ]

    def _pooled(self, name: str, share: Floats) -> Floats | None:
        past = self._past.setdefault(name, deque(maxlen=self._window))
        if past and len(past[0]) != len(share):
            past.clear()
        past.append(share)
        return np.mean(past, axis=0) if len(past) == self._window else None


class ActivityRule(Rule):
    """A rule on layers of which too many units are hardly active; what that is, each says itself.

    Args:
        full: What is judged where it is saved in full; else the summaries of the hook.
        summary: What the names of these begin with.
        threshold_inactivity: A unit is inactive below this percentage.
        threshold_layer: A layer is if more than this percentage of its units are.
        window: Over so many steps.
    """

    evidence = ("activity:raw:every=10",)
    #: What may be wrong with a tensor, and of what none was measured.
    fault: ClassVar[str]
    measured: ClassVar[str]

    def __init__(
        self,
        full: Selection,
        summary: str,
        *,
        threshold_inactivity: float,
        threshold_layer: float,
        window: int = 1,
    ) -> None:
        within("threshold_inactivity", threshold_inactivity, 0, 100)
        within("threshold_layer", threshold_layer, 0, 100)
        self.threshold_inactivity, self.threshold_layer = threshold_inactivity, threshold_layer
        self._full = full
        self._summaries = Selection((), (f"^{summary}",))
        self._layers = Layers(threshold_inactivity, threshold_layer, window)
        self._judged = False
        self._flat: dict[str, None] = {}
        self._open: dict[str, None] = {}

    def check(self, step: StepView) -> Findings:
        shares = self._shares(step)
        if shares:
            self._judged = True
        elif not self._judged:
            self._screen(step)
        inactive = self._layers.add(shares)
        if inactive:
            yield self._finding(step, inactive, len(shares))

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        if self._flat:
            return f"{listed(self._flat)}: of one sample without a batch no share can be taken"
        if self._open:
            return (
                f"statistics alone cannot tell whether {listed(self._open)} {self.fault}; save how"
                " active each unit is: --save activity:raw:every=10"
            )
        if self._full.found_any:
            return None  # the screen proved all of them well
        return f"no {self.measured} was measured, and " + (self._full.missing() or "")

    def _shares(self, step: StepView) -> Shares:
        """Return the activity of each unit of each layer, shape ``[units]``; note what is flat."""
        raise NotImplementedError

    def _screen(self, step: StepView) -> None:
        """Note which tensors statistics alone cannot prove to be well."""
        raise NotImplementedError

    def _finding(self, step: StepView, inactive: list[Inactive], judged: int) -> Finding:
        raise NotImplementedError
