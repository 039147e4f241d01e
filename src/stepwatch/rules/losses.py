"""Rules on losses: maximized, not falling, jumping, and validation against training."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..model.record import StepRecord
from ..model.steps import Mode
from ..numerics.measures import (
    loss_fall_percent,
    loss_verdict,
    number,
    overfit_ratio,
    robust_log_z,
    robust_z,
)
from ..numerics.statistics import COUNT, SUM, SUM_SQ
from .circumstances import Circumstances, Reason, Stages
from .data import ALL_DATA, FewSamples
from .history import (
    LOST,
    Fifths,
    FirstValues,
    LossHistory,
    LossJump,
    MeanGuess,
    RecentLosses,
    Round,
    RoundLosses,
    Rounds,
    Uphill,
)
from .logged_metrics import NOT_TRAINING
from .shared import (
    COMPOSED,
    direction,
    in_a_row,
    is_loss,
    is_scalar,
    losses_of,
    named_losses,
    of_same_loss,
    prefixed,
)

#: A metric falls with its loss if of so much at first, at least, at most such a part is left, and
#: such a part of the loss is gone; the medians of fifths may rise by the last part in between.
MUCH, LEFT, GONE, WAVER = 0.3, 0.4, 0.2, 0.05
#: An evaluation that ends above what guessing costs by so much is worse than that.
WORSE = 1.02
#: A metric that was 0 so often while the loss fell to this part of what it was counts nothing.
LEAST_ZEROS, HALVED = 3, 0.5
#: By so much a loss has risen for good where weights go the wrong way.
RISEN = 1.2
#: What is minimized falls without bound if it is so many times as far below 0 as it began.
UNBOUNDED = 10.0
#: A criterion pushes predictions away from their targets if it does so many of both classes; and
#: they have gone there once their correlation is below this, and lower than at first.
PUSHED, OPPOSED = 0.95, -0.2
#: Below this fraction of its peak a learning rate winds a training down.
WINDING_DOWN = 0.1
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


# A loss below this fraction of the largest has little influence on what is learnt.
_SMALL_PART = 0.1
# So many models one after the other are the copies of one, as meta-learning trains.
_MANY_MODELS = 6


class Objectives:
    """Remembers what of a training says that its losses need not fall."""

    def __init__(self) -> None:
        self._steps = (-1, 0.0)  # the last TRAIN step, and the updates until then
        self._sums: dict[str, float] = {}  # of the magnitudes of each loss in TRAIN
        self._apart: set[str] = set()  # losses that are not judged
        self._is_forest = False  # the boosted model at hand
        #: Why losses were left out, or "".
        self.why = ""

    def plain(
        self, step: StepView, losses: Mapping[str, float], num_models: int
    ) -> dict[str, float]:
        """Return the losses of a step that can be judged by whether they fall."""
        apart, sums = self._apart, self._sums
        boosting = step.tensor("hyperparameters/boosting")
        if boosting is not None:
            self._is_forest = boosting.value().item() == "rf"
        if self._is_forest:
            self.why = "the trees of a forest are averaged, so its loss need not fall"
            return {}
        if num_models >= _MANY_MODELS:
            self.why = f"{num_models} models were trained one after the other"
            return {}
        for name, loss in losses.items():
            if loss < 0:
                apart.add(name)
        if apart and not self.why:
            self.why = f"{min(apart)} was negative, so it need not fall"
        if step.mode is Mode.TRAIN:
            if self._is_opposed(step, len(losses)):
                self.why = "several models are updated in turn, perhaps against each other"
                apart.update(losses)
            for name, loss in losses.items():
                sums[name] = sums.get(name, 0.0) + (abs(loss) if math.isfinite(loss) else 0)
        least = _SMALL_PART * max(sums.values(), default=0.0)
        return {
            name: loss
            for name, loss in losses.items()
            if name not in apart and sums.get(name, least) >= least
        }

    def _is_opposed(self, step: StepView, num_losses: int) -> bool:
        count = step.tensor("loop/optimizer_steps")
        if step.tensor("loop/takes_turns") is not None:
            return True
        if count is None:
            # Of tapes updates are not counted: each optimizer has a rate, and a loss.
            rates = sum(len(group) for group in step.groups("learning_rates"))
            return self._steps[0] < 0 and min(num_losses, rates) > 1
        updates = count.scalar
        before, self._steps = self._steps, (step.mode_step, updates)
        return before[0] == step.mode_step - 1 and updates - before[1] > 1


class RoundRule(Rule):
    """A rule on losses of rounds: a run of TRAIN steps and the run of EVAL steps after it."""

    per_model = True
    sign = "outcome"
    view = EvidenceView("losses", "mean")

    tensor_regex: Sequence[str] = parameter(
        (), "Scalars whose name matches one of these; by default the losses."
    )

    def begin(self) -> None:
        collections = () if self.tensor_regex else ("losses",)
        self._losses = Selection(collections, self.tensor_regex, keep=is_loss)
        self._rounds = Rounds()
        self._last = StepNumber(0, 0)

    def check(self, step: StepView) -> Findings:
        self._last = step.at
        ended = self._rounds.add(step.mode, step.number, losses_of(step, self._losses))
        if ended is not None:
            yield from self._evaluate(ended, step.at, step.mode.value)

    def finish(self) -> Findings:
        current = self._rounds.current
        if current is not None:
            yield from self._evaluate(current, self._last, Mode.EVAL.value)

    def unevaluated(self) -> str | None:
        return None if self._evaluated else self._losses.missing() or self._rounds.missing()

    def _evaluate(self, ended: Round, at: StepNumber, mode: str) -> Findings:
        raise NotImplementedError


class Overfit(RoundRule):
    """A validation loss that stays well above the training loss, or rises away from it.

    A round is a run of TRAIN steps and the run of EVAL steps after it. It is judged at the
    first TRAIN step of the next round, the last one at the end of training. In boosting, each step
    is a round, with ``train-rmse`` and ``validation-rmse``. Dropout and label smoothing, which
    only training has, shift the ratio.

    It is a warning where the validation loss has risen from its own best by more than its rounds
    scatter, has not come down again by as much, and the training loss did not rise with it. A loss
    that only lies above that of training is information: many a model that generalizes has one.
    Where the training loss is weighted by classes or samples and that of validation is not, they
    are not compared, and only a rise counts.

    At the end, a mean square that hardly falls below the variance of the targets in training, and
    in evaluation ends above what guessing their mean costs (``guessing``).
    """

    name = "overfit"

    start_step: int = parameter(0, "First step at which a round may begin.", at_least=0)
    patience: int = parameter(1, "So many bad rounds in a row are tolerated.", at_least=0)
    ratio_threshold: float = parameter(
        0.1, "How far V may lie above T, as a fraction of T.", above=0
    )
    rising_by: float | None = parameter(
        None, "V must also be above the best so far by this fraction.", at_least=0
    )

    def begin(self) -> None:
        super().begin()
        self._validation: dict[str, RoundLosses] = {}
        self._training: dict[str, RoundLosses] = {}
        # Losses that are weighted in TRAIN only, and what was said of bad rounds that go on.
        self._weighted: set[str] = set()
        self._said: dict[str, str] = {}
        self._guesses: defaultdict[str, MeanGuess] = defaultdict(MeanGuess)
        # What training lost before anything was learned; of boosting a first round is over by then.
        self._at_first: dict[str, float] = {}
        self._samples = FewSamples()

    def check(self, step: StepView) -> Findings:
        self._samples.add(step)
        self._weighted |= named_losses(step, _WEIGHTED)
        if step.mode in (Mode.TRAIN, Mode.EVAL):
            for loss in step.tensors("losses"):
                if step.mode is Mode.TRAIN and "boosting" not in loss.record.layout.rows_of:
                    self._at_first.setdefault(loss.name, loss.scalar)
                label = of_same_loss(step, loss, "label")
                if loss.info.function == "mse_loss" and label is not None:
                    moments = label.record.statistics[label.row, [COUNT, SUM, SUM_SQ]]
                    self._guesses[loss.name].add_targets(step.mode, moments)
        yield from super().check(step)

    def finish(self) -> Findings:
        yield from super().finish()
        for name, guess in self._guesses.items():
            shares = guess.shares()
            if shares is not None and name not in self._weighted:
                yield self._guessed(name, guess.num_rounds, *shares)

    def _guessed(self, name: str, num_rounds: int, train: float, validation: float) -> Finding:
        return self.finding(
            self._last,
            name,
            f"{name}: after {num_rounds} rounds training comes to {train:.0%} of what guessing the"
            f" mean of the targets costs, and the evaluation to {validation:.0%}, and never was"
            " clearly below: what little is learnt is learnt by heart",
            mode=Mode.EVAL.value,
            value=validation,
            threshold=1.0,
            severity="warning" if validation > WORSE else "info",
            condition=f"{name} guessing",
            remedy="check that each target belongs to its sample, as where one of both is shuffled"
            " or sorted and the other is not; if the targets are as noisy as that, end the training"
            " where the evaluation is best",
            evidence={"train": train, "validation": validation, "rounds": num_rounds},
        )

    def _evaluate(self, ended: Round, at: StepNumber, mode: str) -> Findings:
        if ended.first_step < self.start_step:
            return
        for name, train, validation in ended.pairs():
            self._evaluated = True
            if name in self._guesses and len(ended.losses[Mode.TRAIN]) == 1:
                self._guesses[name].add_round(train, validation)
            ratio = overfit_ratio(train, validation)
            if math.isnan(ratio):
                continue
            known = self._validation.setdefault(name, RoundLosses())
            trained = self._training.setdefault(name, RoundLosses())
            weighted = name in self._weighted
            is_above = weighted or ratio > self.ratio_threshold
            bad = is_above and self._is_rising(known.best, validation)
            count = self.streak(name, bad)
            known.add(validation, bad=bad)
            trained.add(train)
            is_alone = _ALONE * trained.rise() < known.rise()
            risen = not math.isfinite(validation) or (known.stays_up() and is_alone)
            severity = "warning" if risen else "info"
            if count <= self.patience:
                self._said.pop(name, None)
                continue
            # once for each time it starts: rounds may be further apart than any cooldown
            if (risen or not weighted) and self._said.get(name) not in ("warning", severity):
                self._said[name] = severity
                pair = train, validation
                yield self._finding(name, pair, known.best, count, at, mode, severity)

    def _finding(
        self,
        name: str,
        losses: tuple[float, float],
        best: float,
        count: int,
        at: StepNumber,
        mode: str,
        severity: str,
    ) -> Finding:
        train, validation = losses
        ratio = overfit_ratio(train, validation)
        what = f"exceeds training loss by {ratio:.0%} ({number(validation)} vs {number(train)})"
        if name in self._weighted:
            what = f"rose from {number(best)} to {number(validation)} and stays above its best"
        only = "" if severity == "warning" else "; it does not rise while that of training falls"
        first = self._at_first.get(name, math.nan)
        # Training may weigh its losses, and then the two say nothing of each other.
        is_judged = severity == "warning" and name not in self._weighted
        is_learned = not (is_judged and best >= first > train)
        if not is_learned:
            only = (
                f"; it never was below {number(first)}, what training lost at first: nothing was"
                " learned that holds there"
            )
        few = str(self._samples) if severity == "warning" else ""
        prepared = _REGULARIZE if is_learned else _PREPARED
        return self.finding(
            at,
            name,
            f"{name}: validation loss {what} for {count} rounds in a row"
            f" (> patience {self.patience}) at step {at.train_step}{only}{few}",
            mode=mode,
            value=ratio,
            threshold=self.ratio_threshold,
            severity=severity,
            condition=name if severity == "warning" else f"{name} level",
            remedy=ALL_DATA if few else prepared,
            evidence={"train": train, "validation": validation, "best": best, "rounds": count},
        )

    def _is_rising(self, best: float, validation: float) -> bool:
        if self.rising_by is None or not math.isfinite(validation):
            return True
        return validation > best + self.rising_by * abs(best)


# Before the name of a loss that is weighted in training, and not where it is evaluated.
_WEIGHTED = "setup/weighted/"
_REGULARIZE = "regularize, augment or gather data, or use a smaller model"
_PREPARED = (
    "check first how inputs and labels are prepared on both sides: the same scaling, order of"
    " columns and axes, vocabulary and numbers of ids, samples of all classes, each label with its"
    " sample, and statistics of batch normalization that are up to date; if all is right,"
    f" {_REGULARIZE}"
)
#: A validation loss rises alone if it does by so many times what that of training rises.
_ALONE = 4


#: A rise is none within so many times the noise that hides a fall: it is looked for many times.
RISES = 5 / 3


class LossNotDecreasing(Rule):
    """A loss that, over ``num_steps`` steps, hardly falls or clearly rises.

    A rise within ``increase_threshold_percent`` is noise; a fall below ``diff_percent`` is a
    plateau. A loss that goes on not falling is reported when it starts to; as information where a
    loss of a policy was seen, for those of its values rise as it becomes better.

    With ``converged_ratio``, a rise after the loss had fallen, to less than twice what it began
    at, waits for ``num_steps`` more or the end: a task may become harder on purpose, and targets
    may move, as those of a network that follows the trained one. A loss that falls again by then
    is not reported. ``lost``: unless steps are too large from the start, and it stays at more than
    ``LOST`` times its best.
    """

    name = "loss_not_decreasing"
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {"lost": "rate", "*": "outcome"}

    collection_names: Sequence[str] = parameter((), "Judge the scalars of these collections.")
    tensor_regex: Sequence[str] = parameter((), "And scalars whose name matches one of these.")
    use_losses_collection: bool = parameter(True, "And those of the collection `losses`.")
    num_steps: int = parameter(
        10, "Steps between the losses that are compared, counted within their mode.", at_least=1
    )
    diff_percent: float = parameter(0.1, "The least fall that counts as one.", at_least=0)
    increase_threshold_percent: float = parameter(
        5.0, "The largest rise that is tolerated.", above=0, at_most=100
    )
    mode: Literal["TRAIN", "EVAL", "PREDICT", "GLOBAL"] | None = parameter(
        None,
        "Losses of this mode. `none`: those of EVAL from when there are enough to judge, before"
        " that those of TRAIN. `GLOBAL`: all steps together.",
    )
    variant: Literal["tolerant", "strict"] = parameter("tolerant", "`strict` tolerates no rise.")
    smooth: int = parameter(1, "Compare medians of so many losses.", at_least=1)
    converged_loss: float | None = parameter(None, "Silent below this loss.")
    converged_ratio: float | None = parameter(
        None,
        "Silent while the loss is at most this fraction of what it began at: the median of the"
        " first `smooth`, or of the first few where they lie well above.",
        above=0,
    )
    plain_only: bool = parameter(
        False,
        "Judge no loss that may be right not to fall: that of a training in which several"
        " optimizers update in one step, as adversarial ones do, or a script updates two models in"
        " turn, or of six or more models one after"
        " the other, as in meta-learning, one of a random forest, one that was ever negative, one"
        " that is a tenth of another or less, or a plateau below a tenth of the learning rate's"
        " peak.",
    )

    def begin(self) -> None:
        self.increase_percent = self.increase_threshold_percent
        self.strict = self.variant == "strict"
        collections = (*self.collection_names, *(("losses",) if self.use_losses_collection else ()))
        self._losses = Selection(collections, self.tensor_regex, keep=is_loss)
        self._series: dict[tuple[str, str], LossHistory] = {}
        self._judged = self._judges_eval = False
        self._last_eval = -1
        self._circumstances = Circumstances()
        self._objectives = Objectives() if self.plain_only else None
        self._rates = (0.0, 0.0)  # the highest learning rate so far, and the last

    def check(self, step: StepView) -> Findings:
        self._circumstances.add(step)
        if step.trains:
            for group in step.groups("learning_rates"):
                rate = float(np.abs(group.quantity("mean")).max())
                self._rates = max(self._rates[0], rate), rate
        if not step.is_of(self.mode):
            return
        mode = step.mode.value
        losses = losses_of(step, self._losses)
        if self._objectives is not None:
            losses = self._objectives.plain(step, losses, self.num_models)
        if self.mode is None and self._judges_eval and step.mode is not Mode.EVAL:
            return
        everything = self.mode == Mode.GLOBAL.value
        at = step.number if everything else step.mode_step
        for name, loss in losses.items():
            key = (name, "" if everything else mode)
            series = self._series.get(key)
            if series is None:
                rise = self.increase_percent / 100
                series = self._series[key] = LossHistory(self.num_steps, self.smooth, rise)
            pair = series.add(at, step.at, loss)
            is_eval = step.mode is Mode.EVAL
            # Where both are in one window, those of EVAL are about to span one, too.
            if pair is not None and (is_eval or self.mode or self._last_eval < pair[0].number):
                self._judges_eval |= is_eval
                self._judged = True
                yield from self._evaluate(name, step, series, pair)
            if is_eval:
                self._last_eval = step.number

    def finish(self) -> Findings:
        """Judge a training that ended before its losses span ``num_steps`` by what there is."""
        for (name, mode), series in self._series.items():
            yield from self._evaluate_risen(name, mode, series)
        if self._judged:
            return
        for (name, mode), series in self._series.items():
            short = series.shortened()
            if short is not None:
                self._judged = True
                yield from self._evaluate(
                    name, series.losses[-1][1], short, short.compared(short.smooth), mode
                )

    def _evaluate_risen(self, name: str, mode: str, series: LossHistory) -> Findings:
        """Judge a rise that was waited for, at the end of a training."""
        risen, ratio = series.risen, self.converged_ratio or 0.0
        if risen is None or series.turned(risen, ratio):
            return
        if self._circumstances.targets_grew(name, risen[0].number):
            return
        reason = self._circumstances.reason(series.recent)
        pair = *risen[:2], series.last
        yield self._finding(name, series.losses[-1][1], "rose", pair, reason, series.smooth, mode)

    def unevaluated(self) -> str | None:
        if self._judged or any(map(self._has_fallen, self._series.values())):
            return None
        longest = max((len(series.losses) for series in self._series.values()), default=0)
        mode = f" of mode {self.mode}" if self.mode else ""
        few = (
            f"no loss{mode} spans {self.num_steps} steps after smoothing; the longest has {longest}"
            " values"
        )
        why = self._objectives.why if self._objectives else ""
        return self._losses.missing() or why or few

    def _evaluate(
        self,
        name: str,
        step: StepView | StepNumber,
        series: LossHistory,
        pair: tuple[StepNumber, float, float],
        mode: str = "",
    ) -> Findings:
        then_step, then, now = pair
        verdict = loss_verdict(
            then,
            now,
            diff_percent=self.diff_percent,
            increase_percent=self.increase_percent,
            strict=self.strict,
        )
        if self._is_converged(now, series.first):
            verdict = ""
        elif verdict != "not finite" and abs(now - then) < series.noise() * (
            RISES if verdict == "rose" else 1
        ):
            # No rise, and no end of a plateau: the losses of single batches scatter as much.
            is_none = series.is_short and now >= then
            verdict = "plateau" if series.bad or verdict == "plateau" or is_none else ""
        if verdict == "rose" and self._circumstances.targets_grew(name, then_step.number):
            verdict = ""
        peak, rate = self._rates
        if verdict == "plateau" and self.plain_only and rate < WINDING_DOWN * peak:
            verdict = ""  # a schedule that comes to its end holds the loss where it is
        verdict = series.settled(verdict, now)
        if self.converged_ratio is not None:
            compared = then_step, then, now
            verdict, then_step, then = series.waited(verdict, compared, self.converged_ratio)
            if verdict == "rose" and self._circumstances.targets_grew(name, then_step.number):
                verdict = ""
        lost = None
        if self._circumstances.large_steps and isinstance(step, StepView) and step.trains:
            lost = series.lost(step.at, now)
            verdict = "" if lost is not None else verdict
        started, series.bad = bool(verdict) and not series.bad, bool(verdict or lost)
        newly_lost, series.is_lost = lost is not None and not series.is_lost, lost is not None
        if lost is not None and newly_lost:
            yield self._lost_finding(name, step, lost, now)
        elif started:
            reason = self._circumstances.reason(series.recent) if math.isfinite(now) else None
            yield self._finding(
                name, step, verdict, (then_step, then, now), reason, series.smooth, mode
            )

    def _lost_finding(
        self, name: str, step: StepView | StepNumber, best: tuple[StepNumber, float], now: float
    ) -> Finding:
        """Return that steps which are too large threw away what was learned."""
        then_step, then = best
        return self.finding(
            step,
            name,
            f"{self._circumstances.large_steps}; {name} had fallen to {number(then)} at step"
            f" {then_step.train_step}, and is {number(now)} at step {step.train_step}, more than"
            f" {LOST:g} times that",
            value=now,
            threshold=LOST * then,
            onset=then_step,
            condition="lost",
            remedy="lower the learning rate tenfold, or more",
            evidence={"since_step": then_step.number, "then": then, "now": now},
        )

    def _has_fallen(self, series: LossHistory) -> bool:
        """Return whether a loss has converged before there were enough steps to compare."""
        return self._is_converged(series.last, series.first)

    def _is_converged(self, now: float, first: float) -> bool:
        if self.converged_loss is not None and now < self.converged_loss:
            return True
        ratio = self.converged_ratio
        return ratio is not None and first > 0 and now <= ratio * first

    def _finding(
        self,
        name: str,
        step: StepView | StepNumber,
        verdict: str,
        pair: tuple[StepNumber, float, float],
        reason: Reason | None,
        smooth: int,
        mode: str,
    ) -> Finding:
        then_step, then, now = pair
        fall = loss_fall_percent(then, now)
        limit = self.diff_percent if verdict == "plateau" else self.increase_percent
        what = {
            "plateau": _plateau(fall, limit),
            "rose": _rise(-fall, 0 if self.strict else limit),
            "not finite": "it is no longer finite",
        }[verdict]
        median = f" (medians of {smooth})" if smooth > 1 else ""
        begin = {"plateau": " does not fall", "rose": " rises"}.get(verdict, "")
        return self.finding(
            step,
            name,
            f"{name}{begin}: {number(then)} at step {then_step.train_step}, {number(now)} at step"
            f" {step.train_step}{median}: {what}{'; ' + reason.sentence if reason else ''}",
            # As a policy becomes better, so do its returns, and values are behind them.
            severity="info"
            if self._circumstances.by_reward and verdict != "not finite"
            else "warning",
            mode=mode,
            value=-fall if verdict == "rose" else fall,
            threshold=limit,
            remedy=reason.remedy
            if reason
            else "check learning rate, labels and data order; on a plateau, lower the learning"
            " rate or stop",
            evidence={
                "verdict": verdict,
                "since_step": then_step.number,
                "then": then,
                "now": now,
                **({"why": reason.cause} if reason else {}),
            },
        )


def _plateau(fall: float, limit: float) -> str:
    """Return by how much a loss fell that counts as one that does not, percent.

    Example:
        >>> _plateau(0.05, 0.1), _plateau(-6.67, 0.1)
        ('it fell by 0.05%, less than 0.1%', 'it rose by 6.67%')
    """
    if fall < 0:
        return f"it rose by {number(-fall)}%"
    return f"it fell by {number(fall)}%, " + (
        f"less than {number(limit)}%" if fall < limit else "no more than losses scatter"
    )


def _rise(percent: float, limit: float) -> str:
    """Return by how much a loss rose, as a factor where percents say little.

    Example:
        >>> _rise(30.0, 10), _rise(1120.0, 10)
        ('it rose by 30%, more than 10%', 'it is 12.2 times as high')
    """
    if percent >= 2 * _WHOLE:
        return f"it is {number(1 + percent / _WHOLE)} times as high"
    return f"it rose by {number(percent)}%, more than {number(limit)}%"


_WHOLE = 100.0


@dataclass(frozen=True, slots=True)
class _Spike:
    """A loss that jumped.

    Args:
        name: Of the loss.
        step: The step,
        mode: and its mode.
        loss: Its height,
        median: that of the window before,
        score: and how far above it that is, in robust standard deviations.
        is_high: Whether it is above all that the loss began with.
    """

    name: str
    step: StepNumber
    mode: str
    loss: float
    median: float
    score: float
    is_high: bool


class LossSpike(Rule):
    """A training loss that jumps far out of its recent range.

    A loss that is always positive must be far out on a logarithmic scale, too: the batches of one
    near zero differ by orders of magnitude, and that is no spike.

    It is a warning where the loss is above all that it began with, the first 20, and information
    else; also where the batches became others with it, as in a curriculum: of another shape than
    any before, or with another number of targets. Between full steps that shows at the next one,
    which is waited for. Of policies and values of actions it is information, too: their targets
    move, as when a target network is copied. ``horizon_steps`` later it is reported whether the
    loss stayed up or went on rising; a loss that came back gives no further finding.
    """

    name = "loss_spike"
    training_only = True
    per_model = True
    sign = "spike"
    view = EvidenceView("losses", "mean")

    window: int = parameter(64, "The recent losses it is compared with.", at_least=4)
    k: float = parameter(8.0, "Robust standard deviations above their median.", above=0)
    min_rise: float = parameter(0.1, "Least rise, as a fraction of the median.", at_least=0)
    over_window: float = parameter(
        1.0, "So many times as far above the median as the largest of the window.", at_least=0
    )
    warmup_steps: int = parameter(
        200, "Losses before the first judgement; at least `window` are waited for.", at_least=0
    )
    horizon_steps: int = parameter(200, "Losses until the spike is looked at again.", at_least=1)
    of_first: float = parameter(
        0.0, "Least height, as a fraction of the median of the first 20 losses.", at_least=0
    )
    tensor_regex: Sequence[str] = parameter(
        (), "Judge also scalars whose name matches one of these."
    )

    def begin(self) -> None:
        self._first, self._highest = FirstValues(20), FirstValues(20, max)
        self.warmup_steps = max(self.warmup_steps, self.window)
        self._losses = Selection(("losses",), self.tensor_regex, keep=is_scalar)
        self._recent: dict[str, RecentLosses] = {}
        self._stages = Stages()
        self._waiting: list[_Spike] = []  # until it is known whether a new stage began
        self._staged: set[str] = set()  # losses whose last spike is a new stage
        # Of policies, and values of actions, targets move: a target network is copied, returns grow
        self._by_reward = False

    def check(self, step: StepView) -> Findings:
        news = self._stages.news(step)
        self._by_reward |= any("policy" in one.layout.rows_of for one in step.records)
        if news is not None:
            yield from self._settle(news)
        for name, loss in losses_of(step, self._losses).items():
            recent = self._recent.get(name)
            if recent is None:
                recent = self._recent[name] = RecentLosses(self.window)
            least = self.of_first * abs(self._first.of(name, loss))
            self._highest.of(name, loss)
            if recent.spike is not None and recent.count - recent.spike.at >= self.horizon_steps:
                yield from self._aftermath(name, step, recent)
            if recent.count >= self.warmup_steps and not abs(loss) < least:
                yield from self._evaluate(name, step, recent, loss, news)
            recent.add(loss)

    def finish(self) -> Findings:
        yield from self._settle("")

    def unevaluated(self) -> str | None:
        most = max((recent.count for recent in self._recent.values()), default=0)
        if most > self.warmup_steps:
            return None
        few = f"{most} TRAIN steps had a loss; the first {self.warmup_steps} are warm-up"
        return self._losses.missing() or few

    def _evaluate(
        self, name: str, step: StepView, recent: RecentLosses, loss: float, news: str | None
    ) -> Findings:
        largest = recent.largest()
        if not math.isfinite(loss) or (self.over_window >= 1 and loss <= largest):
            return
        score, median = robust_z(loss, recent.losses)
        rise = loss - median
        far = rise > max(self.over_window * (largest - median), self.min_rise * abs(median))
        if far and min(score, robust_log_z(loss, recent.losses)) > self.k:
            if recent.spike is None:
                recent.spike = LossJump(step.at, recent.count, median, loss)
                self._staged.discard(name)
            # Most come back; what is told of one that does not is a warning.
            is_high = not loss < self._highest.of(name, loss)
            spike = _Spike(name, step.at, step.mode.value, loss, median, score, is_high)
            if is_high and news is None and self._stages.are_alike:
                self._waiting.append(spike)
            else:
                yield self._finding(spike, news or "")

    def _settle(self, news: str) -> Findings:
        waiting, self._waiting = self._waiting, []
        for spike in waiting:
            yield self._finding(spike, news)

    def _finding(self, spike: _Spike, news: str) -> Finding:
        if news:
            self._staged.add(spike.name)
        return self.finding(
            spike.step,
            spike.name,
            f"{spike.name}: {number(spike.loss)} at step {spike.step.train_step} is"
            f" {number(spike.score)}"
            f" robust standard deviations above the median {number(spike.median)} of the"
            f" {self.window} before (> {number(self.k)})"
            + (f"; a new stage of training began: {news}" if news else ""),
            mode=spike.mode,
            severity="warning" if spike.is_high and not news and not self._by_reward else "info",
            value=spike.score,
            threshold=self.k,
            remedy="nothing, if the harder batches are meant"
            if news
            else "look at the batches of this step and the one before; restart before it"
            " and skip them, or lower the learning rate",
            evidence={
                "loss": spike.loss,
                "median": spike.median,
                **({"new_stage": news} if news else {}),
            },
        )

    def _aftermath(self, name: str, step: StepView, recent: RecentLosses) -> Findings:
        spike, recent.spike = recent.spike, None
        after = recent.median(self.horizon_steps)
        if spike is None or after - spike.median <= self.min_rise * abs(spike.median):
            return
        yield from self._settle("")
        diverged = not after < spike.loss
        what = "diverged" if diverged else "stayed up"
        usual = "info" if name in self._staged or self._by_reward else "warning"
        yield self.finding(
            step,
            name,
            f"{name}: {self.horizon_steps} steps after the spike at step {spike.step.train_step}"
            " its median"
            f" is {number(after)}, before it was {number(spike.median)}: training {what}",
            value=after,
            threshold=spike.median * (1 + self.min_rise),
            severity="error" if diverged else usual,
            condition=f"{name} {what}",
            remedy=f"restart from a checkpoint before step {spike.step.train_step}",
        )


@dataclass(slots=True)
class Best:
    """The best of a loss so far, and for how many looks there was no better one.

    Args:
        loss: The best; nan before the first finite one.
        step: The step it was at.
        stale: Looks since.
        last: The loss now.
    """

    loss: float = math.nan
    step: StepNumber = field(default_factory=lambda: StepNumber(0, 0))
    stale: int = 0
    last: float = math.nan

    def add(self, loss: float, step: StepNumber, delta: float, *, relative: bool) -> None:
        """Take in one more loss; one that is not finite is no better one."""
        self.last = loss
        margin = delta * abs(self.loss) if relative else delta
        if math.isfinite(loss) and not loss >= self.loss - margin:
            self.loss, self.step, self.stale = loss, step, 0
        else:
            self.stale += 1


@dataclass(slots=True)
class _Progress:
    train: Best = field(default_factory=Best)
    validation: Best = field(default_factory=Best)
    validated: bool = False
    reported: bool = False


class Overtraining(RoundRule):
    """A validation loss that has not reached a new best for many rounds, and lies above it.

    A round is a run of TRAIN steps and the run of EVAL steps after it, as in Overfit. Without a
    validation loss, which is possible with ``unit=step``, the training loss is judged.
    """

    name = "overtraining"
    compat: ClassVar[Mapping[str, object]] = {"unit": "step", "combine": "either"}

    patience_train: int = parameter(
        5, "So many rounds without a better training loss are tolerated.", at_least=1
    )
    patience_validation: int = parameter(
        10, "So many without a better validation loss.", at_least=1
    )
    delta: float = parameter(0.01, "A loss is better only if it is lower by this.", at_least=0)
    delta_relative: bool = parameter(False, "Take `delta` as a fraction of the best.")
    combine: Literal["validation", "either", "both"] = parameter(
        "validation",
        "`either`: the training loss, after `patience_train`, is a finding as well, which it is"
        " in compat. `both`: both are needed. The last two do not ask whether V lies above its"
        " best.",
    )
    unit: Literal["round", "step"] = parameter(
        "round",
        "`step` counts single steps of each mode, and judges the training loss where there is no"
        " other; it is `step` in compat, where losses of single batches raise many false alarms.",
    )

    def begin(self) -> None:
        super().begin()
        self._progress: dict[str, _Progress] = {}
        self._mode = ""

    def check(self, step: StepView) -> Findings:
        if self.unit == "round":
            yield from super().check(step)
        elif step.mode is not Mode.PREDICT:
            evaluates = step.mode is Mode.EVAL
            for name, loss in losses_of(step, self._losses).items():
                train, validation = (None, loss) if evaluates else (loss, None)
                self._mode = step.mode.value
                yield from self._add(name, step.at, train, validation)

    def unevaluated(self) -> str | None:
        if self._progress:
            return None
        alone = "; to judge the training loss alone: unit=step"
        return self._losses.missing() or self._rounds.missing() + alone

    def _evaluate(self, ended: Round, at: StepNumber, mode: str) -> Findings:
        self._mode = mode
        for name, train, validation in ended.pairs():
            yield from self._add(name, at, train, validation)

    def _add(
        self, name: str, step: StepNumber, train: float | None, validation: float | None
    ) -> Findings:
        loss = self._progress.setdefault(name, _Progress())
        if train is not None:
            loss.train.add(train, step, self.delta, relative=self.delta_relative)
        if validation is not None:
            loss.validated = True
            loss.validation.add(validation, step, self.delta, relative=self.delta_relative)
        is_stale = self._is_stale(loss)
        if is_stale and not loss.reported:
            yield self._finding(name, loss, step)
        loss.reported = is_stale

    def _is_stale(self, loss: _Progress) -> bool:
        train = loss.train.stale >= self.patience_train
        validation = loss.validation.stale >= self.patience_validation
        if not loss.validated:
            return train
        if self.combine == "validation":
            return validation and not loss.validation.last <= loss.validation.loss
        return (train and validation) if self.combine == "both" else (train or validation)

    def _finding(self, name: str, loss: _Progress, step: StepNumber) -> Finding:
        by_train = not loss.validated or loss.validation.stale < self.patience_validation
        what, best = ("training", loss.train) if by_train else ("validation", loss.validation)
        patience = self.patience_train if by_train else self.patience_validation
        flat = loss.train.stale >= self.patience_train
        goes_on = "is flat, too" if flat else "still improves"
        more = "" if by_train else f"; training {goes_on}"
        return self.finding(
            step,
            name,
            f"{name}: no new best {what} loss for {best.stale} {self.unit}s (patience {patience});"
            f" best {number(best.loss)} at step {best.step.train_step}, now"
            f" {number(best.last)}{more}",
            mode=self._mode,
            value=float(best.stale),
            threshold=float(patience),
            severity="info" if flat else "warning",
            remedy=f"go back to step {best.step.train_step}, and stop earlier",
            evidence={"best": best.loss, "best_step": best.step.number, "now": best.last},
        )
