"""The rule on GPUs that do not share the work."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...finding import Finding
from ..checks import number
from ..rule import Findings, NothingToJudge
from ..scope import at_least, within
from .rule import SCAN_INTERVAL_US, GpuRule, too_few
from .window import GPUS, ProfileWindow, by_node, mean_together

#: The edges of what is counted, in percent.
BINS = np.linspace(0, 100, 51)
_MOST = float(np.sqrt(np.log(2)))
_Counts = npt.NDArray[np.int64]


def jensen_shannon(first: _Counts, second: _Counts) -> float:
    """Return how far apart two histograms are, from 0 to the root of ln 2; nan for an empty one.

    Example:
        >>> round(jensen_shannon(np.array([4, 0]), np.array([0, 9])), 4)
        0.8326
    """
    if not (first.any() and second.any()):
        return float("nan")
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2

    def divergence(one: npt.NDArray[np.float64]) -> float:
        some = one > 0
        return float(np.sum(one[some] * np.log(one[some] / middle[some])))

    return float(np.sqrt(max(0.0, (divergence(p) + divergence(q)) / 2)))


class LoadBalancing(GpuRule):
    """Two GPUs of a machine, or the means of two machines, that are used differently.

    Histograms of all readings so far, of 50 bins, are compared by the Jensen-Shannon distance. A
    GPU that waits in a collective counts as used: where steps are timed, straggler tells more.

    Args:
        threshold: A greater distance is too much. From 0 to 0.8326.
        patience: So many readings of each must have been seen, and more.
        min_gap: The medians must be so far apart as well, in points of percent. At least 0.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "load_balancing"
    compat: ClassVar[Mapping[str, object]] = {"threshold": 0.2, "min_gap": 0}

    def __init__(
        self,
        threshold: float = 0.5,
        patience: int = 1000,
        min_gap: float = 10,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(scan_interval_us)
        within("threshold", threshold, 0, _MOST)
        at_least("patience", patience, 0)
        at_least("min_gap", min_gap, 0)
        self.threshold, self.patience, self.min_gap = threshold, patience, min_gap
        self._gpus: dict[tuple[str, str], _Counts] = {}
        self._nodes: dict[str, _Counts] = {}

    def add(self, window: ProfileWindow) -> None:
        readings = window.readings(GPUS, "busy_percent")
        for key, found in readings.items():
            counts = self._gpus.setdefault(key, np.zeros(len(BINS) - 1, np.int64))
            counts += np.histogram(found.values, BINS)[0]
        for node, several in by_node(readings).items():
            mean = mean_together(several)
            counts = self._nodes.setdefault(node, np.zeros(len(BINS) - 1, np.int64))
            counts += np.histogram(mean.values, BINS)[0]

    def judge(self, window: ProfileWindow) -> Findings:
        gpus = {f"{node}/{gpu}": (node, counts) for (node, gpu), counts in self._gpus.items()}
        for (first, one), (second, other) in combinations(gpus.items(), 2):
            if one[0] == other[0]:
                yield from self._compare(window.step, first, one[1], second, other[1])
        for (first, a), (second, b) in combinations(self._nodes.items(), 2):
            yield from self._compare(window.step, first, a, second, b)

    @property
    def datapoints(self) -> int:
        return int(max((counts.sum() for counts in self._gpus.values()), default=0))

    def details(self) -> Mapping[str, object]:
        return {f"{node}/{gpu}": counts.tolist() for (node, gpu), counts in self._gpus.items()}

    def unevaluated(self) -> str | None:
        if self.datapoints and len(self._gpus) < 2:
            return NothingToJudge("there is one GPU, and no other to share the work with")
        return super().unevaluated() or too_few(self.datapoints, self.patience)

    def _compare(self, step: int, first: str, a: _Counts, second: str, b: _Counts) -> Findings:
        distance = jensen_shannon(a, b)
        medians = _median(a), _median(b)
        few = min(int(a.sum()), int(b.sum())) <= self.patience
        gap = abs(medians[0] - medians[1])
        if few or not (distance > self.threshold and gap >= self.min_gap):
            return
        unused = [name for name, counts in ((first, a), (second, b)) if not counts[1:].any()]
        more = f"; {unused[0]} was hardly used at all" if unused else ""
        yield Finding(
            self.name,
            step,
            "",
            f"{first} (median {number(medians[0])}%) and {second} ({number(medians[1])}%) are used"
            f" differently: their distance is {number(distance)}"
            f" (> {number(self.threshold)}){more}",
            value=distance,
            threshold=self.threshold,
            condition=f"{first} and {second}",
            remedy="give each as much to do: look at how data and layers are split",
            evidence={"first": first, "second": second, "medians": list(medians)},
        )


def _median(counts: _Counts) -> float:
    """Return the middle of the bin in which the median lies."""
    place = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    return float(BINS[place] + BINS[place + 1]) / 2
