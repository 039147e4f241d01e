"""The rule on how far training moves the weights."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..record import Layout, StepRecord, TensorInfo
from .checks import listed, number
from .onsets import Onsets
from .rule import Findings, Rule
from .scope import Selection, above, at_least
from .step_view import StepView
from .weights import is_skipped

SUMMARY = "update_ratio/"

# name and ratio of tensors, and over how many steps they moved by it
Ratios = tuple[tuple[str, ...], npt.NDArray[np.float64], int]


class WeightUpdateRatio(Rule):
    """Weights that move by far too much or too little, relative to what they were.

    The ratio is the l2 norm of the change over the l2 norm of the older value. Where the full
    values of weights are saved, they are compared with those saved before; else the ratio is that
    of one optimizer step, which the hook measures.

    Args:
        num_steps: Compare with the newest value that is so many steps old; ``None`` for the one
            saved before. Above 1 it needs full values.
        large_threshold: A larger ratio is too much.
        small_threshold: A smaller ratio is too little.
        epsilon: Added to the norm of the older value; where that is no larger, the ratio means
            nothing and nothing is said.
        per_step: Divide the ratio by the number of steps between the two.
        include_frozen: Look at frozen parameters, too.
        norm: ``mean_abs`` takes mean magnitudes instead of l2 norms, as others define the ratio; it
            needs full values.
    """

    name = "weight_update_ratio"
    needs = ("weights", "updates")
    compat: ClassVar[Mapping[str, object]] = {"include_frozen": True}

    def __init__(
        self,
        num_steps: int | None = None,
        large_threshold: float = 10.0,
        small_threshold: float = 1e-8,
        epsilon: float = 1e-9,
        per_step: bool = False,
        include_frozen: bool = False,
        norm: Literal["l2", "mean_abs"] = "l2",
    ) -> None:
        at_least("num_steps", 1 if num_steps is None else num_steps, 1)
        at_least("small_threshold", small_threshold, 0)
        above("large_threshold", large_threshold, small_threshold)
        above("epsilon", epsilon, 0)
        self.num_steps = num_steps
        self.large_threshold, self.small_threshold = large_threshold, small_threshold
        self.epsilon = epsilon
        self.per_step = per_step
        self.norm = norm
        self.from_summaries = num_steps in (None, 1) and norm == "l2"
        if not self.from_summaries:
            self.evidence = (f"weights:raw:every={num_steps or 1}",)
        self._weights = Selection(("weights",), keep=None if include_frozen else _may_change)
        self._updates = Selection(("updates",), (), keep=_is_ratio)
        self._saved: deque[tuple[int, Mapping[str, npt.NDArray[np.generic]]]] = deque()
        self._onsets = {"above": Onsets(), "below": Onsets()}
        self._judged = self._saw_values = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for names, ratios, over in self._ratios(step):
            self._judged |= bool(np.isfinite(ratios).any())
            per = ratios / over if self.per_step else ratios
            for side, limit, met in (
                ("above", self.large_threshold, per > self.large_threshold),  # false for nan
                ("below", self.small_threshold, per < self.small_threshold),
            ):
                for leader, members in self._onsets[side].update(names, met).items():
                    chosen = [names[one] for one in members]
                    ratio = float(ratios[members[0]])
                    yield self._finding(step, chosen, (ratio, over), (side, limit, leader))

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        if not self.from_summaries and not self._saw_values:
            return (
                f"to compare weights over {self.num_steps or 1} steps their values are needed:"
                f" --save weights:raw:every={self.num_steps or 1}"
            )
        return "no weight was saved at two TRAIN steps, and no update was measured"

    def _ratios(self, step: StepView) -> Iterator[Ratios]:
        """Yield ratios of full values, or else those that were measured; replicas are the same."""
        for group, names in self._weights.groups(step):
            saved = frozenset(group.record.raw) if group.record.raw else frozenset()
            if not saved.isdisjoint(names):
                self._saw_values = True
                yield from self._of_values(step, group.record, [n for n in names if n in saved])
                return
        if self.from_summaries and not self._saw_values:
            for group, names in self._updates.groups(step):
                if is_skipped(step, group.record.worker):
                    return  # it moved nothing, as it should
                weights = tuple(name.removeprefix(SUMMARY) for name in names)
                yield weights, group.quantity("mean"), 1
                return

    def _of_values(self, step: StepView, record: StepRecord, names: list[str]) -> Iterator[Ratios]:
        now = step.mode_step
        values = {name: record.raw[name] for name in names}
        wanted = now - (self.num_steps or 1)
        while self._saved and self._saved[-1][0] >= now:
            self._saved.pop()  # training went back, to a checkpoint
        while len(self._saved) > 1 and self._saved[1][0] <= wanted:
            self._saved.popleft()
        if self._saved and self._saved[0][0] <= wanted:
            then, older = self._saved[0]
            both = tuple(name for name in names if name in older)
            ratios = [self._ratio(older[name], values[name]) for name in both]
            yield both, np.array(ratios), now - then
        self._saved.append((now, values))

    def _ratio(self, older: npt.NDArray[np.generic], newer: npt.NDArray[np.generic]) -> float:
        """Return the ratio; nan for another shape, for what is not finite, and for a zero."""
        if older.shape != newer.shape or not older.size:
            return np.nan
        here = older.astype(np.float64)
        size = self._size(here)
        change = self._size(newer.astype(np.float64) - here)
        return change / (size + self.epsilon) if size > self.epsilon else np.nan

    def _size(self, values: npt.NDArray[np.float64]) -> float:
        if self.norm == "mean_abs":
            return float(np.abs(values).mean())
        return float(np.linalg.norm(values.ravel()))

    def _finding(
        self,
        step: StepView,
        names: list[str],
        measured: tuple[float, int],
        met: tuple[str, float, str],
    ) -> Finding:
        (ratio, over), (side, limit, leader) = measured, met
        also = f"; so are those of {listed(names[1:])}" if len(names) > 1 else ""
        one = "one step" if over == 1 else f"{over} steps ({number(ratio / over)} a step)"
        return Finding(
            self.name,
            step.number,
            names[0],
            f"{names[0]}: it moved by {number(ratio)} of its norm over {one}, {side}"
            f" {number(limit)}, at step {step.number}{also}",
            value=ratio / over if self.per_step else ratio,
            threshold=limit,
            condition=f"{leader} {side}",
            remedy="lower the learning rate or warm up"
            if side == "above"
            else "raise the learning rate; in low precision, see whether updates are lost",
            evidence={"steps": over, "tensors": names[:20]},
        )


def _may_change(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return tensor.trainable is not False


def _is_ratio(layout: Layout, tensor: TensorInfo) -> bool:
    parameter = layout.row_of.get(tensor.name.removeprefix(SUMMARY))
    frozen = parameter is not None and layout.tensors[parameter].trainable is False
    return tensor.name.startswith(SUMMARY) and not frozen
