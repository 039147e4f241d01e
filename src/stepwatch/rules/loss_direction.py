"""A loss whose sign, or that of its metric, is the wrong way round."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ..judge.declaration import parameter
from ..judge.rule import Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView
from ..model.record import StepRecord
from ..numerics.measures import number
from .history import Fifths, FirstValues, Uphill
from .logged_metrics import NOT_TRAINING
from .shared import COMPOSED, direction, in_a_row, is_scalar, losses_of, prefixed

#: A metric falls with its loss if of so much at first, at least, at most such a part is left, and
#: such a part of the loss is gone; the medians of fifths may rise by the last part in between.
MUCH, LEFT, GONE, WAVER = 0.3, 0.4, 0.2, 0.05
#: A metric that was 0 so often while the loss fell to this part of what it was counts nothing.
LEAST_ZEROS, HALVED = 3, 0.5
#: By so much a loss has risen for good where weights go the wrong way.
RISEN = 1.2
#: What is minimized falls without bound if it is so many times as far below 0 as it began.
UNBOUNDED = 10.0
#: A criterion pushes predictions away from their targets if it does so many of both classes; and
#: they have gone there once their correlation is below this, and lower than at first.
PUSHED, OPPOSED = 0.95, -0.2
#: A term is pulled the same way at so many looks in a row.
LEAST_LOOKS = 6
#: So many values of a metric, and of the loss, are enough to judge; it is judged at each so many.
LEAST_METRICS, LEAST_LOSSES, EVERY = 10, 100, 10


class LossDirection(Rule):
    """A loss that is maximized, and rises; or that falls as the model gets worse.

    What ``backward`` is called on falls when the only loss of the step rises: its derivative by
    the loss is below 0, as after a sign that is lost on the way. Two losses in one step may be
    meant to pull in different directions, and are not judged.

    ``against_metric``: the one loss falls, and so do all metrics of the training that ought to
    rise, as an accuracy or an IoU, to a fraction of what they were: as where a score is minimized.
    ``zero_metric``: the loss falls to half, and a metric that ought to rise is 0 at each log.
    ``uphill``: the one loss rises, and weights that no optimizer of PyTorch holds go the way of
    their gradients: a step that was written by hand has the wrong sign.
    ``outweighed``: the one loss rises while what it is a term of falls far below 0: another term
    grows that is taken away, as a KL divergence by the wrong sign.
    ``pushed_apart``: a criterion that a script writes itself pushes predicted probabilities down
    where the target is 1 and up where it is 0, and they become the opposite of the targets.
    ``log_term``: what is part of the loss by itself and in an exponential, as a log-variance or
    what a log-determinant is made of, is pulled the same way by both, so the loss has no least
    value.
    """

    name = "loss_direction"
    needs = ("losses", "loop", "metrics", "weights", "gradients")
    needed_steps = "consecutive"
    per_model = True
    sign = "loss_input"

    consecutive: int = parameter(10, "TRAIN steps in a row.", at_least=2)

    def begin(self) -> None:
        self._losses = Selection(("losses",), keep=is_scalar)
        self._first = FirstValues(3)
        self._fall: dict[str, Fifths] = {}  # of each loss that was alone in its step,
        self._all: dict[str, Fifths] = {}  # and of all
        self._metrics: dict[str, Fifths] = {}
        # How often each metric that ought to rise was 0, and those that were not at some log.
        self._zeros: Counter[str] = Counter()
        self._counting: set[str] = set()
        self._last: StepNumber | None = None
        self._uphill: dict[str, Uphill] = {}
        # How predictions agreed with targets at first, of each criterion.
        self._agreed: dict[tuple[str, str, str], float] = {}

    def check(self, step: StepView) -> Findings:
        for tensor in step.tensors("metrics"):
            title = tensor.name.partition("/")[2]
            if direction(title.rpartition("/")[2]) <= 0:
                continue
            value = tensor.scalar
            self._zeros[tensor.name] += value == 0
            if value != 0:
                self._counting.add(tensor.name)
            if step.trains and not NOT_TRAINING.search(title):
                self._metrics.setdefault(tensor.name, Fifths()).add(value)
        if not step.trains:
            return
        self._last = step.at
        losses = losses_of(step, self._losses)
        self._steps += bool(losses)
        for one, value in losses.items():
            self._all.setdefault(one, Fifths()).add(value)
        for worker in step.workers:
            yield from self._evaluate_log_terms(step, worker, next(iter(losses), "loss"))
        if len(losses) != 1:
            return
        (name, value), *_ = losses.items()
        yield from self._evaluate_metrics(step, name, value)
        first = self._first.of(name, value)
        for record in step.records:
            yield from self._evaluate_way(step, record, name, value, first)
        for worker in step.workers:
            yield from self._evaluate_terms(step, worker, name, value, first)
            yield from self._evaluate_criteria(step, worker, name)
            weight = step.scalar("loop/loss_weight", worker)
            times = self.streak(worker, weight < 0)
            if times >= self.consecutive and value > first:
                yield self.finding(
                    step,
                    name,
                    f"{name}: it is maximized: what backward is called on falls by"
                    f" {number(-weight)} for each 1 that the loss rises, {times} TRAIN steps in a"
                    f" row up to step {step.train_step}; the loss rose from {number(first)} to"
                    f" {number(value)}",
                    worker=worker,
                    value=weight,
                    threshold=0.0,
                    condition="maximized",
                    remedy="take the minus away from the loss, or from the score it is made of",
                )

    def _evaluate_criteria(self, step: StepView, worker: str, name: str) -> Findings:
        """Judge which way criteria push predictions, and where these have gone."""
        for group in prefixed(step, "loop", "loop/pushed_apart/"):
            for tensor in group if group.record.worker == worker else ():
                criterion, share = tensor.name.rpartition("/")[2], tensor.scalar
                now = step.scalar(f"loop/agreement/{criterion}", worker)
                key = worker, "pushed_apart", criterion
                if math.isnan(share) or math.isnan(now):
                    continue
                first = self._agreed.setdefault(key, now)
                is_pushed = self.persists(key, share >= PUSHED)
                if is_pushed and now < OPPOSED and now < first:
                    yield self.finding(
                        step,
                        name,
                        f"{criterion} falls as the model gets worse: it pushes {share:.0%} of"
                        " predictions or more down where the target is 1, and up where it is 0,"
                        f" {in_a_row(self.consecutive, 'look')} up to step {step.train_step}, and"
                        f" the correlation of both went from {number(first)} to {number(now)}",
                        worker=worker,
                        value=share,
                        threshold=PUSHED,
                        condition="pushed_apart",
                        remedy="look at the sign of the loss: of a score such as Dice, IoU or an"
                        " overlap the loss is 1 - score; else see whether the targets are those of"
                        " the other class",
                    )

    def _evaluate_log_terms(self, step: StepView, worker: str, name: str) -> Findings:
        """Judge what is part of a loss by itself and in an exponential."""
        for group in prefixed(step, "loop", "loop/log_term/"):
            for tensor in group if group.record.worker == worker else ():
                same, layer = tensor.scalar, tensor.name.split("/", 2)[2]
                key = worker, "log_term", layer
                if math.isnan(same):
                    continue
                times = self.streak(key, same > 0)
                if times >= LEAST_LOOKS:
                    what = "a term" if layer.startswith("#") else f"what {layer} makes"
                    yield self.finding(
                        step,
                        name,
                        f"{name} has no least value: {what} is part of it by itself and in an"
                        f" exponential, and both fall the same way, {in_a_row(times, 'look')} up to"
                        f" step {step.train_step}",
                        worker=worker,
                        value=float(times),
                        threshold=float(LEAST_LOOKS),
                        condition="log_term",
                        remedy="look at the sign of the logarithm: a negative log-likelihood loses"
                        " log|det dz/dx| and gains log_std, or half of log_var; a KL divergence"
                        " loses half of log_var",
                    )

    def _evaluate_terms(
        self, step: StepView, worker: str, name: str, value: float, first: float
    ) -> Findings:
        """Judge what ``backward`` is called on, of which the loss is a term."""
        objective = step.scalar("loop/objective", worker)
        if math.isnan(objective) or name in COMPOSED:
            return  # as between full steps; or nothing but the whole is known
        began = self._first.of(f"loop/objective/{worker}", objective)
        limit = -UNBOUNDED * max(1.0, abs(began))
        is_known = not math.isnan(began)  # there were enough first ones
        holds = is_known and objective < limit and not value <= RISEN * first
        if self.persists((worker, "outweighed"), holds, 2):
            yield self.finding(
                step,
                name,
                f"what is minimized falls without bound, from {number(began)} to"
                f" {number(objective)} at step {step.train_step}, while {name} rises from"
                f" {number(first)} to {number(value)}: another term of the loss is taken away from"
                " it and grows",
                worker=worker,
                value=objective,
                threshold=limit,
                condition="outweighed",
                remedy="look at the sign of each term of the loss: what has a minus is made as"
                " large as it can be; a penalty, such as a KL divergence, is added",
            )

    def _evaluate_way(
        self, step: StepView, record: StepRecord, name: str, value: float, first: float
    ) -> Findings:
        """Judge which way weights go."""
        if "gradients" not in record.layout.rows_of:
            return  # as between full steps
        uphill = self._uphill.setdefault(record.worker, Uphill())
        uphill.add(record, step.mode_step)
        if first > 0 and not value <= RISEN * first and uphill.holds():
            yield self.finding(
                step,
                name,
                f"{name}: it is maximized: weights went up their gradients at {uphill.num_uphill}"
                f" of {uphill.num_looks} looks up to step {step.train_step}, and the loss rose from"
                f" {number(first)} to {number(value)}",
                worker=record.worker,
                value=uphill.num_uphill / uphill.num_looks,
                threshold=0.5,
                condition="uphill",
                remedy="look at the sign of the update: subtract the gradient, w -= lr * gradient;"
                " optax.apply_updates adds updates as they are, so a chain must end in"
                " scale_by_learning_rate, or in scale(-1) after a schedule",
            )

    def finish(self) -> Findings:
        """Judge metrics that were 0 throughout, though the loss fell."""
        zero = {
            name: count
            for name, count in self._zeros.items()
            if count >= LEAST_ZEROS and name not in self._counting
        }
        loss, fifths = max(self._all.items(), key=lambda one: one[1].count, default=("", Fifths()))
        medians = fifths.medians()
        if not zero or not medians or self._last is None:
            return
        first, *_, last = medians
        if 0 < last <= HALVED * first:
            name, count = next(iter(zero.items()))
            yield self.finding(
                self._last,
                name,
                f"{name.partition('/')[2]} is 0 each of the {count} times it was logged, up"
                f" to step {self._last.train_step}, while {loss} fell from"
                f" {number(first)} to {number(last)}, by medians of the first and the last fifth of"
                " the steps: what it counts is never predicted",
                condition="zero_metric",
                mode="TRAIN",
                value=0.0,
                threshold=0.0,
                remedy="see what the metric is given: argmax over a single column is always 0, and"
                " of logits a threshold is 0, not 0.5; and whether all is predicted to be of one"
                " class, as where another is rare",
            )

    def _evaluate_metrics(self, step: StepView, name: str, value: float) -> Findings:
        loss = self._fall.setdefault(name, Fifths())
        loss.add(value)
        if len(self._fall) > 1 or loss.count < LEAST_LOSSES or loss.count % EVERY:
            return
        known = {
            metric: fifths
            for metric, fifths in self._metrics.items()
            if fifths.count >= LEAST_METRICS
        }
        first, *_, last = losses = loss.medians()
        falls = _falls(losses) and first - last >= GONE * abs(first)
        if not known or not falls or not all(_collapses(one.medians()) for one in known.values()):
            return
        metric, fifths = next(iter(known.items()))
        before, *_, now = fifths.medians()
        title = metric.partition("/")[2]
        yield self.finding(
            step,
            name,
            f"{name}: it falls while the model gets worse: from {number(first)} to {number(last)},"
            f" and {title} of the same data, which ought to rise, from {number(before)} to"
            f" {number(now)}, by medians of the first and the last fifth of {loss.count} TRAIN"
            f" steps up to step {step.train_step}",
            value=now,
            threshold=LEFT * before,
            condition="against_metric",
            remedy="look at the sign of the loss: of a score such as Dice, IoU or a correlation the"
            " loss is 1 - score; else see whether another part of the loss outweighs the one that"
            " the metric is about",
        )


def _falls(fifths: Sequence[float]) -> bool:
    """Return whether medians fall from each fifth to the next, but for a little."""
    room = WAVER * abs(fifths[0])
    return all(after <= before + room for before, after in pairwise(fifths))


def _collapses(fifths: Sequence[float]) -> bool:
    """Return whether next to nothing is left of a metric that was high at first."""
    return fifths[0] >= MUCH and fifths[-1] <= LEFT * fifths[0] and _falls(fifths)
