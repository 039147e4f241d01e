"""Rules on how far training moves the weights, and on weights that something else moves."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, StepRecord, TensorInfo
from ..model.steps import Mode
from ..numerics.measures import Floats, global_norm, listed, non_finite, number
from ..numerics.statistics import COUNT, SUM, SUM_ABS, SUM_SQ, ZEROS
from .circumstances import (
    EARLY_RATIO,
    EARLY_STEPS,
    RATIO,
    FirstUpdates,
    RawInputs,
    RawTargets,
    update_size,
)
from .history import Series
from .shared import (
    begun_anew,
    is_of_trainable,
    is_scalar,
    is_skipped,
    is_trainable,
    is_trained,
    losses_of,
    out_of_range,
)

# name and ratio of tensors, and over how many steps they moved by it
Ratios = tuple[tuple[str, ...], npt.NDArray[np.float64], int]


class WeightUpdateRatio(Rule):
    """Weights that move by far too much or too little, relative to what they were.

    The ratio is the l2 norm of the change over the l2 norm of the older value. Where the full
    values of weights are saved, they are compared with those saved before; else the ratio is that
    of one optimizer step, which the hook measures.
    """

    name = "weight_update_ratio"
    needs = ("weights", "updates")
    training_only = True
    sign = "updates"
    view = EvidenceView("updates")
    compat: ClassVar[Mapping[str, object]] = {"include_frozen": True}

    num_steps: int | None = parameter(
        None, "Compare with the newest value so many steps old, or the one before.", at_least=1
    )
    large_threshold: float = parameter(10.0, "Too much above this.", above="small_threshold")
    small_threshold: float = parameter(1e-8, "Too little below this.", at_least=0)
    epsilon: float = parameter(1e-9, "Where ‖r‖ is no larger than this, nothing is said.", above=0)
    per_step: bool = parameter(False, "Divide the ratio by the number of steps between the two.")
    include_frozen: bool = parameter(False, "Look at frozen parameters, too; `true` in compat.")
    norm: Literal["l2", "mean_abs"] = parameter(
        "l2", "`mean_abs`: mean magnitudes in place of l2 norms; needs full values."
    )

    def begin(self) -> None:
        self.from_summaries = self.num_steps in (None, 1) and self.norm == "l2"
        if not self.from_summaries:
            self.evidence = (f"weights:raw:every={self.num_steps or 1}",)
        self._weights = Selection(("weights",), keep=None if self.include_frozen else is_trainable)
        self._updates = Selection(("updates",), (), keep=_is_ratio)
        self._saved: deque[tuple[int, Mapping[str, npt.NDArray[np.generic]]]] = deque()
        self._has_values = False

    def check(self, step: StepView) -> Findings:
        for names, ratios, over in self._ratios(step):
            self._evaluated |= bool(np.isfinite(ratios).any())
            per = ratios / over if self.per_step else ratios
            limits = self.small_threshold, self.large_threshold
            for side, limit, condition, members in out_of_range(self, "", names, per, *limits):
                first, *others = chosen = [names[one] for one in members]
                ratio = float(ratios[members[0]])
                also = f"; so are those of {listed(others)}" if others else ""
                pace = f"{over} steps ({number(ratio / over)} a step)" if over > 1 else "one step"
                yield self.finding(
                    step,
                    first,
                    f"{first}: it moved by {number(ratio)} of its norm over {pace}, {side}"
                    f" {number(limit)}, at step {step.train_step}{also}",
                    value=ratio / over if self.per_step else ratio,
                    threshold=limit,
                    condition=condition,
                    remedy=_RATIO_REMEDIES[side],
                    evidence={"steps": over, "tensors": chosen[:20]},
                )

    def unevaluated(self) -> str | None:
        if self._evaluated:
            return None
        if not self.from_summaries and not self._has_values:
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
                self._has_values = True
                yield from self._of_values(step, group.record, [n for n in names if n in saved])
                return
        if self.from_summaries and not self._has_values:
            for group, names in self._updates.groups(step):
                if is_skipped(step, group.record.worker):
                    return  # it moved nothing, as it should
                weights = tuple(name.removeprefix(RATIO) for name in names)
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


_RATIO_REMEDIES = {
    "above": "lower the learning rate or warm up",
    "below": "raise the learning rate; in low precision, see whether updates are lost",
}


def _is_ratio(layout: Layout, tensor: TensorInfo) -> bool:
    return tensor.name.startswith(RATIO) and is_of_trainable(layout, tensor)


# What Adam and RMSprop of torch and Keras keep of squared gradients.
_SECOND_MOMENTS = ("/exp_avg_sq", "/square_avg", "/velocity")
#: So many losses are what a loss usually is.
RECENT = 20


class WeightsMoved(Rule):
    """Weights that changed from one step to the next by far more than their optimizer moved them.

    How far they changed at least is read from their statistics: by the triangle inequality the l2
    norm of a change is at least the difference of the l2 norms, and of the sums and sums of
    magnitudes over the root of the number of elements. How far the optimizer moves them is
    measured now and then; the largest of the last measurements counts, as a length and relative to
    the weight, in proportion to learning rate and gradient where these have grown since, and never
    less than what is usual for all parameters. Adam may move each element by the learning rate at
    any step: it does where gradients were next to nothing and are not (Kingma and Ba, 2015).

    Steps in between that were not observed may have been larger: where there are some, only
    ``ratio_of_one`` counts, and the optimizer is taken to move weights as many times as far as the
    last ``RECENT`` losses were larger, on average, than those at the measurements: losses of single
    samples scatter.

    Where a loss was not finite at the step before, what moves weights by much follows from that.

    ``replaced``: most parameters at once, as when averaged weights are left in the model or a
    checkpoint is loaded; not where another optimizer begins with weights that the script gave
    the model, as for the next fold of a cross-validation. ``changed``: some parameters by very
    much, as by a bit that flips in memory; an error only where a loss at once is above all of the
    last ``RECENT`` by as much again.
    """

    name = "weights_moved"
    needs = ("weights", "updates")
    training_only = True
    sign = "moved"
    view = EvidenceView("updates")
    per_model = True
    lacks = "fewer than {looks} updates of the same weights were measured"

    ratio: float = parameter(
        3.0, "So many times the optimizer's steps, for most parameters.", above=1
    )
    ratio_of_one: float = parameter(
        100.0, "So many times is too far for each single one. At least `ratio`.", at_least="ratio"
    )
    share: float = parameter(0.5, "What fraction is most of them.", above=0, at_most=1)
    looks: int = parameter(3, "Measurements that are remembered, and are needed first.", at_least=1)

    def begin(self) -> None:
        self._weights = Selection(("weights",), keep=is_trained)
        self._losses = Selection(("losses",), keep=is_scalar)
        self._recent: Series[str, float] = Series(RECENT)
        self._states: dict[str, _MovedWeights] = {}

    def check(self, step: StepView) -> Findings:
        losses = losses_of(step, self._losses)
        known = {name: before for name in losses if (before := self._recent.get(name))}
        jumped = any(
            not losses[name] <= max(before) + max(map(abs, before))
            for name, before in known.items()
        )
        usual = {
            name: (float(np.mean(np.abs(before))), abs(losses[name]))
            for name, before in known.items()
        }
        found = [*self._check_weights(step, usual, jumped=jumped)]
        if all(math.isfinite(before[-1]) for before in known.values()):
            yield from found
        for name, loss in losses.items():
            self._recent.add(name, loss)

    def _check_weights(
        self, step: StepView, losses: Mapping[str, tuple[float, float]], *, jumped: bool
    ) -> Findings:
        for worker in begun_anew(step):
            if step.scalar("optimizer/begins", worker) > 0:
                self._states.pop(worker, None)
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            state = self._states.get(worker)
            if state is None or state.names != names:
                state = self._states[worker] = _MovedWeights(names, self.looks)
            ratios = state.add(step, group, losses)
            self._evaluated |= bool(np.isfinite(ratios).any())
            # Steps between that were not observed may have been larger.
            most = ratios > (self.ratio if state.passed == 1 else self.ratio_of_one)
            if np.count_nonzero(most) >= max(2, self.share * len(names)):
                yield self._finding(step, state, ratios, "replaced")
            elif (ratios > self.ratio_of_one).any():
                yield self._finding(step, state, ratios, "changed", jumped=jumped)

    def _finding(
        self,
        step: StepView,
        state: _MovedWeights,
        ratios: Floats,
        condition: str,
        *,
        jumped: bool = False,
    ) -> Finding:
        is_close = condition == "replaced" and state.passed == 1
        limit = self.ratio if is_close else self.ratio_of_one
        chosen = np.flatnonzero(ratios > limit)
        chosen = chosen[np.argsort(-ratios[chosen], kind="stable")]
        names = [state.names[index] for index in chosen]
        worst = float(ratios[chosen[0]])
        return self.finding(
            step,
            names[0],
            f"{listed(names)}: {len(names)} of {len(state.names)} parameters changed before step"
            f" {step.train_step} by far more than the optimizer moved them, {names[0]} by at least"
            f" {number(worst)} times as much (> {number(limit)})",
            worker=state.worker,
            value=worst,
            threshold=limit,
            severity="error" if jumped else "warning",
            condition=condition,
            remedy=_MOVED_REMEDIES[condition],
            evidence={"parameters": names[:20], "last_step": state.last_step},
        )


_MOVED_REMEDIES = {
    "replaced": "see what writes to the weights between the two steps: averaged weights that were"
    " put in to evaluate must be taken out again, and a checkpoint needs its optimizer's state",
    "changed": "see what writes to this weight; if nothing does, restart from a checkpoint before"
    " this step and test the memory of this machine",
}


class _MovedWeights:
    """What is remembered of the same weights of one worker.

    Args:
        names: Of the weights.
        window: So many measurements of updates are kept.
    """

    def __init__(self, names: tuple[str, ...], window: int) -> None:
        self.names = names
        self.worker = ""
        #: The global step before the last one.
        self.last_step = 0
        #: How many TRAIN steps lie between the last two.
        self.passed = 0
        self._updates: deque[tuple[Floats, Floats, float, float]] = deque(maxlen=window)
        self._layout: Layout | None = None
        self._before: Floats | None = None
        self._at = 0
        self._step = 0
        self._allowed = np.full(len(names), np.nan)
        self._is_adaptive = False
        # Of each loss the last ones at measurements, and how many times as large others were.
        self._losses: Series[str, float] = Series(window)
        self._scatter = 1.0

    def add(
        self, step: StepView, group: TensorGroup, losses: Mapping[str, tuple[float, float]]
    ) -> Floats:
        """Add one TRAIN step; return how many times too far each changed since the one before.

        Args:
            step: The step.
            group: The weights.
            losses: By name the mean magnitude of the last ones before the step, and the magnitude
                at it.

        Returns:
            Shape ``[weights]``; nan where that is not known.
        """
        self.worker = group.record.worker
        self.last_step, self._step = self._step, step.number
        rows, before = group.record.statistics[group.rows], self._before
        self.passed, self._at = step.mode_step - self._at, step.mode_step
        ratios = np.full(len(rows), np.nan)
        if before is not None and self.passed > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = least_change(before, rows) / (self.passed * self._allowed)
            if self.passed > 1:
                ratios /= self._scatter
        self._scatter = 1.0
        for name, (usual, loss) in losses.items():
            self._losses.add(name, loss)
            looked = max(self._losses.get(name) or (0.0,))
            self._scatter = max(self._scatter, _growth(usual, looked))
        self._before = rows
        self._allowed = self._allowance(group, np.sqrt(rows[:, SUM_SQ]))
        return ratios

    def _allowance(self, group: TensorGroup, sizes: Floats) -> Floats:
        """Return how far each may go by the step that follows; nan if that is not known."""
        rates, gradients = (
            group.record.statistics[_rows(group, kind)] for kind in ("learning_rates", "gradients")
        )
        rate = float(np.abs(rates[:, SUM]).max(initial=0.0))
        gradient = global_norm(gradients)
        measured = self._measured(group)
        if np.isfinite(measured).any():
            known = np.fmax(measured, np.nanmedian(measured))
            self._updates.append((known, known * sizes, rate, gradient))
        if len(self._updates) < (self._updates.maxlen or 0):
            return np.full(len(sizes), np.nan)
        with np.errstate(invalid="ignore"):  # what did not move had no rate, or no gradient
            # A weight that comes near zero is moved as far as before.
            lengths = [
                np.fmax(ratios * sizes, moved) * _growth(rate, then) * _growth(gradient, before)
                for ratios, moved, then, before in self._updates
            ]
            allowed: Floats = np.max(lengths, axis=0)
        if self._is_adaptive:
            allowed = np.fmax(allowed, rate * np.sqrt(group.record.statistics[group.rows, COUNT]))
        return np.where(allowed > 0, allowed, np.nan)

    def _measured(self, group: TensorGroup) -> Floats:
        """Return the update ratio of each weight; nan where there is none."""
        layout = group.record.layout
        if layout is not self._layout:
            self._layout = layout
            self._rows = np.array([layout.row_of.get(RATIO + name, -1) for name in self.names])
            self._is_adaptive |= any(
                layout.tensors[row].name.endswith(_SECOND_MOMENTS)
                for row in _rows(group, "optimizer_states")
            )
        ratios = group.record.statistics[self._rows, SUM]
        return np.where(self._rows >= 0, ratios, np.nan)


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


#: A loss is taken to be what it is at so many steps, at first and now.
_FIRST, _LAST = 5, 20
#: Below this fraction of their first norm, weights have faded, whatever the loss does.
FADED = 0.05
#: A loss that becomes so many times as large within so many steps diverges.
JUMP, WITHIN = 100, 20


class StepSize(Rule):
    """Steps so large that weights run away, or so small that they stay, while no loss falls.

    All trained weights are taken together, and compared with what they were at the first step.
    ``diverged``: within ``WITHIN`` steps it doubled, and a loss became ``JUMP`` times as large or
    is no longer finite (``unbounded``: fell as far below zero); judged from the second step on.
    ``too_large``: their l2 norm grew many times. ``decay``: it shrank to a fraction: what pulls
    weights to zero is stronger than the loss; of weights that became exactly zero, as those that
    are pruned, only what is left is compared. ``too_small``: no step that was measured moved them
    by as much as ``least_step`` of their norm, and the learning rate has been at its height for
    ``num_steps``.
    ``too_large`` and ``decay`` need that no loss fell by ``fall`` of what it was at first; weights
    of which next to nothing is left are ``decay`` all the same: the penalty on them falls, too.
    Where the penalty is known, ``decay`` is judged at the end by what is left of the loss without
    it: more than ``UNLEARNT`` of what that was at first, with a penalty of at least ``OUTWEIGHED``
    of it.
    """

    name = "step_size"
    needs = ("weights", "loop")
    needed_steps = "num_steps"
    training_only = True
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {
        "far_too_high": "rate",
        "too_small": "pace",
        "*": "updates",
    }
    view = EvidenceView("updates")

    grown: float = parameter(
        10.0, "So many times their first norm, weights have run away.", above=1
    )
    shrunk: float = parameter(
        0.5, "Below this fraction of it, they are pulled to zero.", above=0, at_most=0.99
    )
    least_step: float = parameter(
        3e-6, "A step is too small below this fraction of the norm.", above=0, at_most=1e-3
    )
    fall: float = parameter(
        0.1, "The fraction of its magnitude by which a loss falls.", between=(0, 1)
    )
    num_steps: int = parameter(100, "TRAIN steps before the first judgement.", at_least=_LAST)

    def begin(self) -> None:
        self._weights = Selection(("weights",), keep=is_trained)
        self._losses = Selection(("losses",), keep=is_scalar)
        self._of_loss: dict[str, _Loss] = {}
        self._of_worker: dict[str, _WeightNorms] = {}
        self._first_updates = FirstUpdates()
        self._early_losses: dict[str, list[float]] = {}
        self._began: StepNumber | None = None
        self._last: StepNumber | None = None
        self._penalties: dict[str, _Penalties] = {}
        self._inputs, self._targets = RawInputs(), RawTargets()

    def check(self, step: StepView) -> Findings:
        self._steps += 1
        self._last = step.at
        self._began = self._began or step.at
        self._inputs.add(step, step.records[0])
        self._targets.add(step, step.records[0])
        losses = losses_of(step, self._losses)
        for name, value in losses.items():
            self._of_loss.setdefault(name, _Loss()).add(step.mode_step, value)
        for worker in step.workers if len(losses) == 1 else ():
            penalty = step.scalar("loop/penalty", worker)
            if penalty > 0:
                rest = next(iter(losses.values())) - penalty
                known = self._penalties.setdefault(worker, _Penalties(rest))
                known.penalty, known.rest = penalty, rest
        if self._steps <= EARLY_STEPS:
            yield from self._evaluate_start(step, losses)
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            weights = self._of_worker.get(worker)
            if weights is None or weights.names != names:
                weights = self._of_worker[worker] = _WeightNorms(names)
            weights.add(step, group)
            yield from self._evaluate_divergence(step, worker, weights)
            if weights.num_steps >= self.num_steps:
                yield from self._evaluate(step, worker, weights)

    def finish(self) -> Findings:
        if self._last is None or self._last.train_step + 1 < self.num_steps:
            return
        for worker, known in self._penalties.items():
            weights = self._of_worker.get(worker)
            if weights is None:
                continue
            ratio = weights.ratio
            if weights.ratio_kept < self.shrunk and known.outweigh:
                yield self.finding(
                    self._last,
                    "",
                    f"the l2 norm of all trained weights is {number(ratio)} times what it was at"
                    f" first (< {number(self.shrunk)}), and the loss without the penalty on"
                    f" weights went from {number(known.first)} to {number(known.rest)} only, with"
                    f" a penalty of {number(known.penalty)}",
                    worker=worker,
                    mode=Mode.TRAIN.value,
                    value=ratio,
                    threshold=self.shrunk,
                    condition="decay",
                    remedy="lower the penalty on the weights tenfold, as regularizers.l2(1e-4)",
                )

    def _evaluate_start(self, step: StepView, losses: Mapping[str, float]) -> Findings:
        """Judge the first steps, whose updates may throw a model off once and for all."""
        self._first_updates.add(step)
        for name, value in losses.items():
            self._early_losses.setdefault(name, []).append(value)
        if self._steps < EARLY_STEPS or len(self._early_losses) != 1:
            return  # of several losses one may well rise, as those of a discriminator
        ((name, (first, *later)),) = self._early_losses.items()
        now = float(np.median(later)) if later else math.nan
        if not (self._first_updates.are_large and first > 0 and now > _EARLY_RISE * first):
            return
        if any(step.scalar("optimizer/stale_gradients", one) > 0 for one in step.workers):
            return  # gradients that add up make steps too large whatever the rate is
        rate = next(iter(step.tensors("learning_rates")), None)
        what = "learning rate" + (f" of {number(rate.scalar)}" if rate is not None else "")
        if self._inputs.sentence:
            what = f"{self._inputs.sentence}, and for them the {what}"
        yield self.finding(
            step,
            name if rate is None else rate,
            f"{what} is far too high: a step moved the weights by"
            f" {self._first_updates.largest:.0%} of their norm, where 0.1% is usual, and"
            f" {name} went from {number(first)} to {number(now)} in the first {EARLY_STEPS} steps",
            value=self._first_updates.largest,
            threshold=EARLY_RATIO,
            onset=self._began,
            condition="far_too_high",
            remedy=self._inputs.remedy("lower the learning rate a hundredfold, or warm it up"),
            evidence={name: [first, now]},
        )

    def _evaluate_divergence(self, step: StepView, worker: str, weights: _WeightNorms) -> Findings:
        at, before = weights.recent[0]
        if not weights.norm > 2 * before > 0:
            return
        for name, loss in self._of_loss.items():
            least, now = loss.least_since(step.mode_step - WITHIN), loss.tail[-1]
            if math.isnan(least):
                continue  # it was never finite, or long ago
            falls = now < -JUMP * max(1.0, abs(loss.head[0]))
            if math.isfinite(now) and not (now > JUMP * least > 0 or falls):
                continue
            condition = "unbounded" if falls else "diverged"
            least = loss.head[0] if falls else least
            since = step.mode_step - at
            steps = "one step" if since == 1 else f"{since} steps"
            yield self.finding(
                step,
                name,
                f"training diverged: {name} went from {number(least)} to {number(now)} and the"
                f" l2 norm of all trained weights from {number(before)} to {number(weights.norm)}"
                f" within {steps}, up to step {step.train_step}, at a learning rate of"
                f" {number(weights.rate)}"
                + f"; {self._inputs.sentence}"
                * bool(self._inputs.sentence),
                worker=worker,
                value=weights.norm / before,
                threshold=2.0,
                onset=weights.doubled_by(before, step.at),
                condition=condition,
                remedy=_STEP_REMEDIES[condition]
                if falls
                else self._inputs.remedy(_STEP_REMEDIES[condition]),
                evidence={"loss": [least, now], "norm": [before, weights.norm]},
            )
            return

    def _evaluate(self, step: StepView, worker: str, weights: _WeightNorms) -> Findings:
        ratio, kept = weights.ratio, weights.ratio_kept
        text = f"the l2 norm of all trained weights is {number(weights.norm)} at step"
        text += f" {step.train_step}, {number(ratio)} times what it was at first"
        if ratio > self.grown and self._is_stuck():
            if self._targets.reason is not None:
                return  # it grows to reach them
            condition, value, limit = "too_large", ratio, self.grown
            text += f" (> {number(limit)}), and no loss fell by {self.fall:.0%}"
        elif kept < FADED or (kept < self.shrunk and (self._is_stuck() or self._rises())):
            condition, value, limit = "decay", ratio, self.shrunk
            how = f"no loss fell by {self.fall:.0%}"
            if kept < FADED:  # a loss that falls may be the penalty on the weights
                limit, how = FADED, "next to nothing is left of them"
            elif not self._is_stuck():
                how = f"every loss is above its best by {self.fall:.0%}"
            text += f" (< {number(limit)}), and {how}"
        elif weights.is_below(self.least_step, after=self.num_steps):
            condition, value, limit = "too_small", weights.largest_step, self.least_step
            text = (
                f"no step that was measured in {weights.num_steps} steps up to step"
                f" {step.train_step}"
                f" moved the weights by more than {number(value)} of their norm"
                f" (< {number(limit)}): at this pace they will not change"
            )
        else:
            return
        yield self.finding(
            step,
            "",
            text,
            worker=worker,
            value=value,
            threshold=limit,
            condition=condition,
            remedy=_STEP_REMEDIES[condition],
            evidence={name: [loss.first, loss.now] for name, loss in self._of_loss.items()},
        )

    def _is_stuck(self) -> bool:
        losses = self._of_loss.values()
        return bool(losses) and not any(loss.fell(self.fall) for loss in losses)

    def _rises(self) -> bool:
        losses = self._of_loss.values()
        return bool(losses) and all(loss.rose(self.fall) for loss in losses)


# The median loss after the first became so many times that.
_EARLY_RISE = 1.5

_STEP_REMEDIES = {
    "unbounded": "look for a term of the loss with the wrong sign, or one that has no least value",
    "diverged": "lower the learning rate a hundredfold, scale inputs and targets to about unit"
    " size, or clip gradients by norm",
    "too_large": "lower the learning rate (or momentum) tenfold, warm up, or clip gradients; a loss"
    " that is a sum needs a rate as much smaller as it has terms",
    "decay": "lower weight_decay: AdamW multiplies it by the learning rate, Adam adds it to each"
    " gradient",
    "too_small": "raise the learning rate tenfold until the loss moves; see whether gradients are"
    " clipped to next to nothing, or clipped before the scaler has unscaled them",
}


#: Of a loss so much is left without its penalty where little was learned, and a penalty of so much
#: of that is too strong.
UNLEARNT, OUTWEIGHED = 0.5, 0.25


@dataclass(slots=True)
class _Penalties:
    """The penalty in a loss that was seen last, and what was left of that without it."""

    first: float
    penalty: float = 0.0
    rest: float = 0.0

    @property
    def outweigh(self) -> bool:
        """Whether little was learned beside what the penalty pulls the weights to."""
        return self.rest > UNLEARNT * self.first > 0 and self.penalty > OUTWEIGHED * self.rest


@dataclass(slots=True)
class _Loss:
    """What a loss was at its first steps and is at its last."""

    head: list[float] = field(default_factory=list)
    tail: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))
    steps: deque[int] = field(default_factory=lambda: deque(maxlen=_LAST))  # of the tail
    best: float = math.inf

    def add(self, step: int, value: float) -> None:
        if len(self.head) < _FIRST:
            self.head.append(value)
        self.steps.append(step)
        self.tail.append(value)
        if len(self.tail) == _LAST:
            self.best = min(self.best, self.now)

    @property
    def first(self) -> float:
        # the least: the first steps of a training that diverges would make the others seem a fall
        return min(self.head)

    @property
    def now(self) -> float:
        return float(np.median(self.tail))

    def least_since(self, step: int) -> float:
        """Return the least it was after a step, of what is remembered and finite.

        Returns:
            What it was last where none of it came after the step; nan for none.
        """
        finite = [
            (at, one) for at, one in zip(self.steps, self.tail, strict=True) if math.isfinite(one)
        ]
        after = [one for at, one in finite if at > step] or [one for _, one in finite[-1:]]
        return min(after, default=math.nan)

    def fell(self, by: float) -> bool:
        """Return whether it fell by a fraction of its magnitude; false if it is not finite."""
        return self.now < self.first - by * abs(self.first)

    def rose(self, by: float) -> bool:
        """Return whether it is above the best it was by a fraction of that."""
        return self.now > self.best + by * abs(self.best)


class _WeightNorms:
    """What is remembered of the same weights of one worker.

    Args:
        names: Of the weights.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.num_steps = 0
        #: L2 norms of all together.
        self.first = self.norm = math.nan
        #: How many elements are not zero.
        self._first_kept = self._num_kept = 0.0
        #: The largest step that was measured, as a fraction of the norm; infinite before.
        self.largest_step = math.inf
        self.highest_rate = self.rate = 0.0
        #: Steps and norms of the last ``WITHIN`` steps, this one included, and of the one before it
        #: at least.
        self.recent: deque[tuple[int, float]] = deque(maxlen=WITHIN)
        self._steps: deque[StepNumber] = deque(maxlen=WITHIN)
        #: After how many steps the learning rate was higher than ever before.
        self.last_rise = 0

    @property
    def ratio(self) -> float:
        """The norm relative to the first one; nan if that was 0."""
        return self.norm / self.first if self.first else math.nan

    @property
    def ratio_kept(self) -> float:
        """The same of the root mean square of what is not zero, where that has become less.

        What is pruned is set to exactly zero, which no decay does; where nothing else is left it
        is the norm that counts.
        """
        if not 0 < self._num_kept < self._first_kept:
            return self.ratio
        return self.ratio * math.sqrt(self._first_kept / self._num_kept)

    def is_below(self, least_step: float, *, after: int) -> bool:
        """Return whether no step reached a size, so long after the learning rate's height."""
        at_height = self.num_steps - self.last_rise >= after
        return self.norm > 0 and 0 < self.largest_step < least_step and at_height

    def doubled_by(self, norm: float, now: StepNumber) -> StepNumber:
        """Return the step after whose update they may have been larger than twice a norm.

        The weights of a step are those that its update finds.
        """
        calm = [at for at, one in zip(self._steps, self.recent, strict=True) if one[1] <= 2 * norm]
        return calm[-1] if calm else now

    def add(self, step: StepView, group: TensorGroup) -> None:
        """Add one TRAIN step."""
        rates = group.record.statistics[_rows(group, "learning_rates"), SUM]
        rows = group.record.statistics[group.rows]
        self.norm = global_norm(rows)
        self._num_kept = float((rows[:, COUNT] - rows[:, ZEROS]).sum())
        if not self.num_steps:
            self.first, self._first_kept = self.norm, self._num_kept
        while len(self.recent) > 1 and self.recent[0][0] <= step.mode_step - WITHIN:
            self.recent.popleft()
            self._steps.popleft()
        self.recent.append((step.mode_step, self.norm))
        self._steps.append(step.at)
        self.rate = rate = float(np.abs(rates).max(initial=0.0))
        if rate > self.highest_rate:
            self.highest_rate, self.last_rise = rate, self.num_steps
        self.num_steps += 1
        size = update_size(step, group.record)
        if not math.isnan(size):
            known = 0.0 if math.isinf(self.largest_step) else self.largest_step
            self.largest_step = max(known, size)


def _rows(group: TensorGroup, collection: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return group.record.layout.rows_of.get(collection, np.empty(0, np.intp))
