"""The rule on weights that something else than their optimizer changes."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

import numpy as np

from ..finding import Finding
from ..record import Layout, TensorInfo
from ..statistics import COUNT, SUM, SUM_ABS, SUM_SQ
from .checks import Floats, global_norm, listed, non_finite, number
from .rule import Findings, Rule
from .scope import Selection, above, at_least
from .step_view import StepView, TensorGroup

_PREFIX = "update_ratio/"


class WeightsMoved(Rule):
    """Weights that changed from one step to the next by far more than their optimizer moved them.

    How far they changed at least is read from their statistics: by the triangle inequality the l2
    norm of a change is at least the difference of the l2 norms, and of the sums and sums of
    magnitudes over the root of the number of elements. How far the optimizer moves them is
    measured now and then; the largest of the last measurements counts, in proportion to learning
    rate and gradient where these have grown since, and never less than what is usual for all
    parameters.

    ``replaced``: most parameters at once, as when averaged weights are left in the model or a
    checkpoint is loaded. ``changed``: some parameters by very much, as by a bit that flips in
    memory.

    Args:
        ratio: So many times the optimizer's steps is too far for most parameters. Above 1.
        ratio_of_one: So many times is too far for each single one. At least ``ratio``.
        share: That fraction of the parameters is most of them.
        looks: Measurements of the optimizer's steps that are remembered, and are needed first.
    """

    name = "weights_moved"
    needs = ("weights", "updates")
    per_model: ClassVar[bool] = True

    def __init__(
        self, ratio: float = 3.0, ratio_of_one: float = 100.0, share: float = 0.5, looks: int = 3
    ) -> None:
        above("ratio", ratio, 1)
        at_least("ratio_of_one", ratio_of_one, ratio)
        above("share", share, 0, up_to=1)
        at_least("looks", looks, 1)
        self.ratio, self.ratio_of_one, self.share, self.looks = ratio, ratio_of_one, share, looks
        self._weights = Selection(("weights",), keep=is_trained)
        self._states: dict[str, _Weights] = {}
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            state = self._states.get(worker)
            if state is None or state.names != names:
                state = self._states[worker] = _Weights(names, self.looks)
            ratios = state.add(step, group)
            self._judged |= bool(np.isfinite(ratios).any())
            most = ratios > self.ratio
            if np.count_nonzero(most) >= max(2, self.share * len(names)):
                yield self._finding(step, state, ratios, "replaced")
            elif (ratios > self.ratio_of_one).any():
                yield self._finding(step, state, ratios, "changed")

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return f"fewer than {self.looks} updates of the same weights were measured"

    def _finding(self, step: StepView, state: _Weights, ratios: Floats, condition: str) -> Finding:
        limit = self.ratio if condition == "replaced" else self.ratio_of_one
        chosen = np.flatnonzero(ratios > limit)
        chosen = chosen[np.argsort(-ratios[chosen], kind="stable")]
        names = [state.names[index] for index in chosen]
        worst = float(ratios[chosen[0]])
        return Finding(
            self.name,
            step.number,
            names[0],
            f"{listed(names)}: {len(names)} of {len(state.names)} parameters changed before step"
            f" {step.number} by far more than the optimizer moved them, {names[0]} by at least"
            f" {number(worst)} times as much (> {number(limit)})",
            worker=state.worker,
            value=worst,
            threshold=limit,
            severity="error" if condition == "changed" else "warning",
            condition=condition,
            remedy=_REMEDIES[condition],
            evidence={"parameters": names[:20], "last_step": state.last_step},
        )


_REMEDIES = {
    "replaced": "see what writes to the weights between the two steps: averaged weights that were"
    " put in to evaluate must be taken out again, and a checkpoint needs its optimizer's state",
    "changed": "see what writes to this weight; if nothing does, restart from a checkpoint before"
    " this step and test the memory of this machine",
}


class _Weights:
    """What is remembered of the same weights of one worker.

    Args:
        names: Of the weights.
        looks: So many measurements of updates are kept.
    """

    def __init__(self, names: tuple[str, ...], looks: int) -> None:
        self.names = names
        self.worker = ""
        #: The global step before the one that was looked at last.
        self.last_step = 0
        self._looks: deque[tuple[Floats, float, float]] = deque(maxlen=looks)
        self._layout: Layout | None = None
        self._before: Floats | None = None
        self._at = 0
        self._step = 0
        self._allowed = np.full(len(names), np.nan)

    def add(self, step: StepView, group: TensorGroup) -> Floats:
        """Add one TRAIN step; return how many times too far each changed since the one before.

        Returns:
            Shape ``[weights]``; nan where that is not known.
        """
        self.worker = group.record.worker
        self.last_step, self._step = self._step, step.number
        rows, before = group.record.statistics[group.rows], self._before
        passed, self._at = step.mode_step - self._at, step.mode_step
        ratios = np.full(len(rows), np.nan)
        if before is not None and passed > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = least_change(before, rows) / (passed * self._allowed)
        self._before = rows
        self._allowed = self._allowance(group, np.sqrt(rows[:, SUM_SQ]))
        return ratios

    def _allowance(self, group: TensorGroup, sizes: Floats) -> Floats:
        """Return how far each may go by the step that follows; nan if that is not known."""
        rates, gradients = (
            group.record.statistics[group.record.layout.rows_of.get(kind, _NONE)]
            for kind in ("learning_rates", "gradients")
        )
        rate = float(np.abs(rates[:, SUM]).max(initial=0.0))
        gradient = global_norm(gradients)
        measured = self._measured(group)
        if np.isfinite(measured).any():
            self._looks.append((np.fmax(measured, np.nanmedian(measured)), rate, gradient))
        if len(self._looks) < (self._looks.maxlen or 0):
            return np.full(len(sizes), np.nan)
        with np.errstate(invalid="ignore"):  # what did not move had no rate, or no gradient
            looks = [
                ratios * _growth(rate, then) * _growth(gradient, before)
                for ratios, then, before in self._looks
            ]
            allowed: Floats = np.max(looks, axis=0) * sizes
        return np.where(allowed > 0, allowed, np.nan)

    def _measured(self, group: TensorGroup) -> Floats:
        """Return the update ratio of each weight; nan where there is none."""
        layout = group.record.layout
        if layout is not self._layout:
            self._layout = layout
            self._rows = np.array([layout.row_of.get(_PREFIX + name, -1) for name in self.names])
        ratios = group.record.statistics[self._rows, SUM]
        return np.where(self._rows >= 0, ratios, np.nan)


_NONE = np.empty(0, np.intp)


def least_change(before: Floats, after: Floats) -> Floats:
    """Return how large the l2 norm of a change is at least.

    Args:
        before: Statistics of tensors, shape ``[tensors, NUM_FIELDS]``.
        after: Those of the same tensors, later.

    Returns:
        Shape ``[tensors]``; nan where an element is not finite or the number of elements changed.
    """
    norms = np.sqrt(after[:, SUM_SQ]) - np.sqrt(before[:, SUM_SQ])
    roots = np.sqrt(after[:, COUNT])
    sums = (after[:, [SUM, SUM_ABS]] - before[:, [SUM, SUM_ABS]]) / roots[:, None]
    least = np.maximum(np.abs(norms), np.abs(sums).max(axis=1))
    known = (non_finite(before) + non_finite(after) == 0) & (before[:, COUNT] == after[:, COUNT])
    return np.where(known, least, np.nan)


def _growth(now: float, then: float) -> float:
    """Return how many times larger a number is; 1 if it is not."""
    if not now > then:
        return 1.0
    return now / then if then > 0 else np.inf


def is_trained(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    """Return whether a parameter is not frozen and held by an optimizer, as far as is known."""
    return tensor.trainable is not False and tensor.optimizer_groups != 0
