"""Rules on gradients: too small to train, or suddenly too large."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..record import Layout, TensorInfo
from ..statistics import SUM_SQ
from .checks import (
    global_norm,
    magnitude,
    non_finite,
    number,
    top_shares,
    zero_percent,
)
from .norms import Norms
from .rule import Findings, Rule
from .scope import Selection, Streaks, above, at_least, one_of
from .step_view import StepView, TensorGroup

PREFIX = "gradient/"


def is_trained(layout: Layout, gradient: TensorInfo) -> bool:
    """Return whether a gradient belongs to a parameter that is not frozen."""
    row = layout.row_of.get(gradient.name.removeprefix(PREFIX))
    parameter = layout.tensors[row] if row is not None else gradient
    return parameter.trainable is not False and gradient.trainable is not False


class VanishingGradient(Rule):
    """Gradients too small to train with.

    Frozen parameters are left out. A gradient of which most is zero, such as an embedding's, is
    judged by the mean over its non-zero elements.

    Args:
        threshold: Mean magnitude below which a gradient has vanished.
        min_tensors: So many gradients must have vanished at a step.
        consecutive: Each of them at so many steps in a row.
        relative_to: ``median`` or ``largest`` compares with a fraction of the median (largest)
            gradient of the step instead of with ``threshold``: it then does not matter how the
            loss is scaled, or that all gradients shrink as training converges.
        relative_threshold: That fraction.
        ignore_zero_init: Let a gradient be exactly zero at the first TRAIN step; a layer behind
            one that starts at zero has none.
    """

    name = "vanishing_gradient"
    needs = ("gradients",)
    compat: ClassVar[Mapping[str, object]] = {"ignore_zero_init": False}

    def __init__(
        self,
        threshold: float = 1e-7,
        min_tensors: int = 1,
        consecutive: int = 1,
        relative_to: Literal["median", "largest"] | None = None,
        relative_threshold: float = 1e-4,
        ignore_zero_init: bool = True,
    ) -> None:
        above("threshold", threshold, 0)
        at_least("min_tensors", min_tensors, 1)
        at_least("consecutive", consecutive, 1)
        one_of("relative_to", relative_to, ("median", "largest"))
        above("relative_threshold", relative_threshold, 0)
        self.threshold = threshold
        self.min_tensors = min_tensors
        self.consecutive = consecutive
        self.relative_to = relative_to
        self.relative_threshold = relative_threshold
        self.ignore_zero_init = ignore_zero_init
        self._gradients = Selection(("gradients",), keep=is_trained)
        self._streaks: dict[str, Streaks] = {}

    def check(self, step: StepView) -> Findings:
        for group, names in self._gradients.groups(step):
            rows = group.record.statistics[group.rows]
            sizes = magnitude(rows)
            limit = self._limit(sizes)
            below = sizes < limit  # false for nan: nothing of it is finite, or it is empty
            if self.ignore_zero_init and step.mode_step == 0:
                below &= sizes > 0
            if self.consecutive > 1:
                streaks = self._streaks.setdefault(group.record.worker, Streaks())
                below = streaks.update(names, below) >= self.consecutive
            if below.any() and np.count_nonzero(below) >= self.min_tensors:
                yield self._finding(step, group, sizes, below, limit)

    def unevaluated(self) -> str | None:
        return self._gradients.missing()

    def _limit(self, sizes: npt.NDArray[np.float64]) -> float:
        if self.relative_to is None:
            return self.threshold
        finite = sizes[~np.isnan(sizes)]
        if not len(finite):
            return math.nan
        reference = np.median(finite) if self.relative_to == "median" else finite.max()
        return self.relative_threshold * float(reference)

    def _finding(
        self,
        step: StepView,
        group: TensorGroup,
        sizes: npt.NDArray[np.float64],
        below: npt.NDArray[np.bool_],
        limit: float,
    ) -> Finding:
        worst = int(np.argmin(np.where(below, sizes, np.inf)))
        names = [info.name for info in group.where(below).infos]
        tensor, row = group[worst], group.record.statistics[group.rows[worst]]
        zeros, bad = float(zero_percent(row[None])[0]), int(non_finite(row))
        since = f" for {self.consecutive} steps in a row" if self.consecutive > 1 else ""
        message = (
            f"{tensor.name}: mean|g| = {number(sizes[worst])} < {number(limit)}"
            f" at step {step.number}{since}; {len(names)} of {len(group)} gradients are below,"
            f" the first in depth order is {names[0]}"
            + (f"; {number(zeros)}% of it is zero" if zeros else "")
            + (f"; {bad} of its elements are not finite" if bad else "")
        )
        return Finding(
            self.name,
            step.number,
            tensor.name,
            message,
            worker=tensor.worker,
            value=float(sizes[worst]),
            threshold=limit,
            condition="below",
            remedy="use activations that do not saturate, residual connections or normalization,"
            " or another initialization; with mixed precision, check the loss scale",
            evidence={"below": len(names), "first_in_depth": names[0], "tensors": names[:20]},
        )


class GradNormSpike(Rule):
    """The norm of all gradients together jumps, is always clipped, or grows towards the end.

    The norm before clipping is used where the script clips by norm.

    Args:
        alpha: How much of the running mean and variance each step keeps.
        z: A norm so many running standard deviations above the running mean is a spike,
        min_ratio: if it is so many times the mean, too.
        warmup_steps: Norms from which the first mean and variance are taken.
        clip_share: Finding when more than this share of the norms in a window were above the
            clipping norm; ``None`` for never.
        clip_window: Length of that window in steps.
        clip_ratio: Count norms above so many times the clipping norm only. At least 1.
        growth: Finding at the end when the norm grew so many times over the last part of
            training; ``None`` for never.
        growth_share: That part, as a fraction of the training steps.
    """

    name = "grad_norm_spike"
    needs = ("gradients", "optimizer")
    per_model = True

    def __init__(
        self,
        alpha: float = 0.97,
        z: float = 6.0,
        min_ratio: float = 2.0,
        warmup_steps: int = 25,
        clip_share: float | None = 0.9,
        clip_window: int = 500,
        clip_ratio: float = 1.0,
        growth: float | None = 10.0,
        growth_share: float = 0.1,
    ) -> None:
        above("alpha", alpha, 0, up_to=0.9999999)
        above("z", z, 0)
        at_least("min_ratio", min_ratio, 1)
        at_least("warmup_steps", warmup_steps, 2)
        above("clip_share", 0.5 if clip_share is None else clip_share, 0, up_to=1)
        at_least("clip_window", clip_window, 1)
        at_least("clip_ratio", clip_ratio, 1)
        above("growth", 2.0 if growth is None else growth, 1)
        above("growth_share", growth_share, 0, up_to=1)
        self.z, self.min_ratio = z, min_ratio
        self.clip_share, self.clip_window, self.clip_ratio = clip_share, clip_window, clip_ratio
        self.growth = growth
        self.growth_share = growth_share
        self._start = alpha, z, warmup_steps
        self._norms: dict[str, Norms] = {}

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            norm, max_norm = _norm(step, worker)
            if not math.isfinite(norm):
                continue  # skipped by a gradient scaler, or the business of other rules
            norms = self._norms.get(worker)
            if norms is None:
                norms = self._norms[worker] = Norms(*self._start, clip_window=self.clip_window)
            mean, score = norms.add(step.number, norm)
            if score > self.z and norm > self.min_ratio * mean:
                yield self._spike(step, worker, norm, mean, score)
            if max_norm is not None and self.clip_share is not None:
                share = norms.clipped_share(norm > self.clip_ratio * max_norm)
                if share > self.clip_share:
                    yield self._clipping(step, worker, share, max_norm)

    def finish(self) -> Findings:
        for worker, norms in self._norms.items():
            factor = norms.growth(self.growth_share)
            if self.growth is not None and factor >= self.growth:
                yield Finding(
                    self.name,
                    norms.last_step,
                    "gradient_norm",
                    f"the gradient norm grew x{number(factor)} (>= x{number(self.growth)}) over"
                    f" the last {self.growth_share:.0%} of training, up to step {norms.last_step}",
                    mode="TRAIN",
                    worker=worker,
                    value=factor,
                    threshold=self.growth,
                    condition="growth",
                    remedy="lower the learning rate or clip; training is about to diverge",
                )

    def unevaluated(self) -> str | None:
        most = max((norms.count for norms in self._norms.values()), default=0)
        if most > self._start[2]:
            return None
        return f"{most} steps had a finite gradient norm; the first {self._start[2]} are warm-up"

    def _spike(
        self, step: StepView, worker: str, norm: float, mean: float, score: float
    ) -> Finding:
        top = _top(_gradients(step, worker))
        shares = ", ".join(f"{name} {share:.0%}" for name, share in top[:3])
        message = (
            f"gradient norm {number(norm)} at step {step.number} is {number(score)} standard"
            f" deviations above its running mean {number(mean)} (> {number(self.z)})"
        )
        return Finding(
            self.name,
            step.number,
            top[0][0] if top else "gradient_norm",
            f"{message}; of its square: {shares}" if shares else message,
            worker=worker,
            value=score,
            threshold=self.z,
            condition="spike",
            remedy="look at the batch of this step; clip the gradient, or lower the learning rate",
            evidence={"norm": norm, "mean": mean, "shares": [list(pair) for pair in top]},
        )

    def _clipping(self, step: StepView, worker: str, share: float, max_norm: float) -> Finding:
        factor = f", to less than 1/{number(self.clip_ratio)}," if self.clip_ratio > 1 else ""
        return Finding(
            self.name,
            step.number,
            "gradient_norm",
            f"the gradient was clipped to {number(max_norm)}{factor} at {share:.1%} of the last"
            f" {self.clip_window} steps (> {self.clip_share:.1%}) up to step {step.number}:"
            " clipping sets the size of the step, not the learning rate",
            worker=worker,
            value=share,
            threshold=self.clip_share,
            severity="info",
            condition="clipping",
            remedy="raise the clipping norm, or lower the learning rate",
        )


def _norm(step: StepView, worker: str) -> tuple[float, float | None]:
    """Return the global norm before clipping, and the norm that the script clips to."""
    max_norm = _scalar(step, "optimizer/max_norm", worker)
    norm = _scalar(step, "optimizer/gradient_norm_before_clipping", worker)
    if norm is None:
        group = _gradients(step, worker)
        norm = math.nan if group is None else global_norm(group.record.statistics[group.rows])
    return norm, max_norm


def _scalar(step: StepView, name: str, worker: str) -> float | None:
    tensor = step.tensor(name, worker)
    return None if tensor is None else tensor.scalar


def _gradients(step: StepView, worker: str) -> TensorGroup | None:
    groups = step.groups("gradients")
    return next((group for group in groups if group.record.worker == worker), None)


def _top(group: TensorGroup | None) -> list[tuple[str, float]]:
    if group is None:
        return []
    names = [info.name for info in group.infos]
    return top_shares(names, group.record.statistics[group.rows, SUM_SQ])
