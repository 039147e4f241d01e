"""Activations that are far larger than the rest."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from ..finding import Finding
from ..record import Layout
from ..statistics import MAX, MIN
from .checks import Floats, dtype_max, number
from .rule import Findings, Rule
from .scalars import First, InARow
from .scope import above, at_least, within
from .step_view import StepView, TensorGroup

#: The place of the median magnitude in a tensor of the collection ``quantiles``.
_MEDIAN_MAGNITUDE = 5


class ActivationOutlier(Rule):
    """Single activations that grow far beyond the others, or near what their dtype can hold.

    ``massive``: the largest magnitude is 1000 times the median and above 100 (Sun et al.: Massive
    activations in large language models, 2024), and it has grown: some models live well with
    those that stay. ``overflow``: it is above ``dtype_share`` of the largest number of the dtype.

    For the first, quantiles of outputs must be saved.

    Args:
        min_ratio: Of the largest magnitude to the median magnitude. Above 1.
        min_magnitude: The least magnitude that is massive.
        min_growth: So many times what it was at first. Above 1.
        dtype_share: Between 0 and 1.
        consecutive: Looks in a row.
        warmup: Looks of which the median is the largest magnitude at first.
    """

    name = "activation_outlier"
    needs = ("outputs",)
    evidence = ("quantiles:raw:every=10",)
    per_model = True

    def __init__(
        self,
        min_ratio: float = 1000.0,
        min_magnitude: float = 100.0,
        min_growth: float = 2.0,
        dtype_share: float = 0.5,
        consecutive: int = 3,
        warmup: int = 3,
    ) -> None:
        above("min_ratio", min_ratio, 1)
        above("min_magnitude", min_magnitude, 0)
        above("min_growth", min_growth, 1)
        within("dtype_share", dtype_share, 0, 1)
        at_least("consecutive", consecutive, 1)
        at_least("warmup", warmup, 1)
        self.min_ratio, self.min_magnitude = min_ratio, min_magnitude
        self.min_growth, self.dtype_share = min_growth, dtype_share
        self.consecutive = consecutive
        self._first = First(warmup)
        self._in_a_row = InARow()
        self._limits: WeakKeyDictionary[Layout, Floats] = WeakKeyDictionary()
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for group in step.groups("outputs"):
            rows = group.record.statistics[group.rows]
            largest = np.fmax(-rows[:, MIN], rows[:, MAX])
            yield from self._judge_overflow(step, group, largest)
            if group.record.raw:
                yield from self._judge_massive(step, group, largest)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return f"no quantiles of outputs were saved; save them with: --save '{self.evidence[0]}'"

    def _judge_overflow(self, step: StepView, group: TensorGroup, largest: Floats) -> Findings:
        with np.errstate(invalid="ignore"):
            limits = self._dtype_limits(group)
            # what is exactly the limit is a mask
            near = (largest > self.dtype_share * limits) & (largest < limits)
        # nearly never anything, and then few: one at a time
        for index in np.flatnonzero(near).tolist():
            tensor = group[index]
            limit = self.dtype_share * dtype_max(tensor.info.dtype)
            yield Finding(
                self.name,
                step.number,
                tensor.name,
                f"{tensor.name}: the largest magnitude is {number(float(largest[index]))} at step"
                f" {step.number}, above {self.dtype_share:.0%} of what {tensor.info.dtype} can"
                " hold",
                worker=tensor.worker,
                value=float(largest[index]),
                threshold=limit,
                severity="error",
                condition=f"overflow {tensor.name}",
                remedy="compute this module in float32 or bfloat16, or normalize its input",
            )

    def _judge_massive(self, step: StepView, group: TensorGroup, largest: Floats) -> Findings:
        raw = group.record.raw
        for info, size in zip(group.infos, largest.tolist(), strict=True):
            quantiles = raw.get(f"quantiles/{info.name}")
            if quantiles is None:
                continue
            self._judged = True
            key = group.record.worker, info.name
            first = self._first.of(key, size)
            median = float(quantiles[_MEDIAN_MAGNITUDE])
            ratio = size / median if median > 0 else math.nan
            met = (
                ratio > self.min_ratio
                and size > self.min_magnitude
                and size > self.min_growth * first
            )
            if self._in_a_row.count(key, met) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    info.name,
                    f"{info.name}: the largest magnitude is {number(size)} at step {step.number},"
                    f" {number(ratio)} times the median (> {number(self.min_ratio)}), at first it"
                    f" was {number(first)}; {self.consecutive} looks in a row",
                    worker=group.record.worker,
                    value=ratio,
                    threshold=self.min_ratio,
                    condition=f"massive {info.name}",
                    remedy="look at the weights before it; lower the learning rate, or normalize",
                    evidence={"at_first": first, "abs_max": size},
                )

    def _dtype_limits(self, group: TensorGroup) -> Floats:
        known = self._limits.get(group.record.layout)
        if known is None:
            known = np.array([dtype_max(info.dtype) for info in group.infos])
            self._limits[group.record.layout] = known
        return known
