"""Losses that do not fall, and losses that jump."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import ClassVar, Literal, cast

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule, Selection
from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import loss_fall_percent, loss_verdict, number, robust_log_z, robust_z
from ..numerics.statistics import COUNT, SUM, SUM_SQ
from .circumstances import Circumstances, Reason, Stages
from .classes import Counts, added
from .confusion import agreement_z, entropy
from .history import FELL, LOST, WAIT, FirstValues, LossHistory, LossJump, RecentLosses, Series
from .shared import (
    BINARY,
    begun_anew,
    has_sums,
    is_loss,
    is_scalar,
    learns_by_reward,
    losses_of,
    means,
    named_losses,
    of_same_loss,
)

#: A model that was given other weights so often is trained for one task after the other.
MOST_BEGUN = 3
#: Below this fraction of its peak a learning rate winds a training down.
WINDING_DOWN = 0.1

# A loss below this fraction of the largest has little influence on what is learnt.
_SMALL_PART = 0.1
# What is known of a loss by itself that need not fall.
_NEED_NOT_FALL = {
    "setup/inner/": "pulls what the model makes to a constant",
    "setup/policy/": "is given advantages, which change with the policy",
}
# So many models one after the other are the copies of one, as meta-learning trains.
_MANY_MODELS = 6


# A sum of losses differs by no more than this share from what is differentiated, if that is it.
_ROUNDED = 1e-3
# A loss of boosted trees that has fallen so far has learned what there is.
BOOSTED = 0.99
# By so many values it is known what is differentiated.
_WHOLES = 5


class Objectives:
    """Remembers what of a training says that its losses need not fall."""

    def __init__(self) -> None:
        self._steps = (-1, 0.0)  # the last TRAIN step, and the updates until then
        self._sums: dict[str, float] = {}  # of the magnitudes of each loss in TRAIN
        self._apart: set[str] = set()  # losses that are not judged
        self._is_forest = False  # the boosted model at hand
        self._has_turns = False  # models are updated in turn
        self._is_term = False  # what is differentiated has more terms, and was negative
        # What is differentiated where losses are terms of it, with weights of their own: what it
        # was at first, and its last values.
        self._first_wholes = FirstValues(_WHOLES)
        self._first_whole = math.nan
        self._last_wholes: deque[float] = deque(maxlen=_WHOLES)
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
        for prefix, what in _NEED_NOT_FALL.items():
            found = named_losses(step, prefix)
            apart |= found
            if found and not self.why:
                self.why = f"{min(found)} {what}, so it need not fall"
        for name, loss in losses.items():
            if loss < 0:
                apart.add(name)
        if apart and not self.why:
            self.why = f"{min(apart)} was negative, so it need not fall"
        self._is_term |= step.mode is Mode.TRAIN and has_negative_objective(step)
        for worker in step.workers if step.trains and len(losses) > 1 else ():
            whole, plain = step.scalar("loop/objective", worker), sum(losses.values())
            if abs(whole - plain) > _ROUNDED * max(abs(plain), 1):
                self._first_whole = self._first_wholes.of("", whole)
                self._last_wholes.append(whole)
        if self._is_term:
            apart.update(losses)
            self.why = self.why or "losses are terms of what was negative, so they need not fall"
        if step.mode is Mode.TRAIN:
            # Some steps may be those of one of them alone.
            self._has_turns |= self._is_opposed(step, len(losses))
            if self._has_turns:
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

    def are_learned(self, ratio: float | None) -> bool:
        """Return whether losses are terms of what has come down to a ratio of what it was."""
        if ratio is None or math.isnan(self._first_whole):
            return False
        return median(self._last_wholes) <= ratio * self._first_whole

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


def has_negative_objective(step: StepView) -> bool:
    """Return whether a sum that is differentiated, of which a loss is a term, is below 0."""
    return any(step.scalar("loop/objective", worker) < 0 for worker in step.workers)


def soft_targets_floor(step: StepView, name: str) -> float | None:
    """Return what a binary cross-entropy cannot be below by its targets; ``None`` if not known.

    A target *t* between 0 and 1 costs its entropy at best, which is at least 4 ln 2 t (1 - t); the
    mean of that is known by the mean and variance of the targets, and 0 where they are 0 and 1.
    """
    if not any(len(one.layout.rows_of_any(("labels",))) for one in step.records):
        return None
    loss = next((one for one in step.tensors("losses") if one.name == name), None)
    label = None
    if loss is not None and loss.info.function in BINARY and not has_sums(step, loss.worker):
        label = of_same_loss(step, loss, "label")
    if label is None:
        return None
    count, total, squares = label.record.statistics[label.row, [COUNT, SUM, SUM_SQ]]
    floor = 4 * math.log(2) * (total - squares) / count if count else 0.0
    return float(floor) if 0 <= floor <= math.log(2) else None


#: Where medians are known as well as to this fraction, a rise within that is a plateau.
STEADY = 0.01
#: A rise is none within so many times the noise that hides a fall: it is looked for many times.
RISES = 5 / 3
# Reasons that say of nothing that it is wrong.
_NOTHING_WRONG = ("data", "paired")
_LEARNED = (
    "it is below what guessing classes by their frequency costs, and guesses are right more often"
    " than by chance"
)
_MAY_BE_ALL = (
    "compare it with what a simple model reaches: the inputs may tell no more of the labels; else"
    " try more epochs, a larger model or another learning rate"
)
#: Guesses of the last so many looks tell whether anything was learned, by so many standard
#: deviations.
LOOKS_AT_GUESSES, NO_CHANCE = 10, 5.0


class LossNotDecreasing(Rule):
    """A loss that, over ``num_steps`` steps, hardly falls or clearly rises.

    A rise within ``increase_threshold_percent`` is noise; a fall below ``diff_percent`` is a
    plateau. A loss that goes on not falling is reported when it starts to; as information where a
    loss of a policy was seen, for those of its values rise as it becomes better, and for a plateau
    that nothing explains below what guessing classes costs, if guesses are right more often than by
    chance: the labels may tell no more.

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
        " the other, as in meta-learning, one of a random forest, one that was ever negative, or"
        " is a term of what was, or of a weighted sum that came down to `converged_ratio`, one"
        " that is a tenth of another or less, one that is given a constant in the place of its"
        " prediction, as a commitment loss, in JAX one whose function takes advantages by that"
        " name, a plateau below a tenth of the learning rate's peak, or one of boosted trees whose"
        " loss has fallen by 1%; and compare no losses of"
        " before the script gave the model other weights, of no"
        " file, and none at all once it did so three times. A plateau that nothing explains must"
        " last for 400 more steps, or to the end. A rise that is less than losses scatter, by less"
        " than 1%, is a plateau, and the last losses are judged once more.",
    )

    def begin(self) -> None:
        self.increase_percent = self.increase_threshold_percent
        self.strict = self.variant == "strict"
        collections = (*self.collection_names, *(("losses",) if self.use_losses_collection else ()))
        self._losses = Selection(collections, self.tensor_regex, keep=is_loss)
        self._series: dict[tuple[str, str], LossHistory] = {}
        self._judged = self._judges_eval = False
        self._last_eval = -1
        self._num_begun = 0
        self._circumstances = Circumstances()
        self._objectives = Objectives() if self.plain_only else None
        # How often each class was taken for which.
        self._guesses: Series[str, Counts] = Series(LOOKS_AT_GUESSES)
        self._rates = (0.0, 0.0)  # the highest learning rate so far, and the last
        self._is_boosted = False

    def check(self, step: StepView) -> Findings:
        self._circumstances.add(step)
        if self.plain_only and begun_anew(step):
            self._series.clear()
            self._num_begun += 1
        if self._num_begun >= MOST_BEGUN:
            return
        if step.trains:
            for group in step.groups("learning_rates"):
                rate = max(map(abs, means(group)))
                self._rates = max(self._rates[0], rate), rate
            for tensor in step.tensors("classes"):
                if tensor.name.startswith("confusion/") and tensor.name in tensor.record.raw:
                    self._guesses.add(tensor.name, np.asarray(tensor.value()).astype(np.int64))
        self._is_boosted |= step.tensor("boosting/round") is not None
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
            floor = soft_targets_floor(step, name)
            if floor is not None:
                series.floor = floor if series.floor is None else min(floor, series.floor)
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
        """Judge the last losses; those of a training that ended before ``num_steps`` by what is."""
        for (name, mode), series in self._series.items():
            # Of EVAL there may be too few, for which those of TRAIN were left alone.
            is_left = self._judges_eval and mode == Mode.TRAIN.value
            pair = series.ended() if self.plain_only and not is_left else None
            if pair is not None:
                yield from self._evaluate(name, series.losses[-1][1], series, pair, mode)
        for (name, mode), series in self._series.items():
            if series.waiting is not None:
                yield series.waiting
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
        if self._num_begun >= MOST_BEGUN:
            why = "the model is given other weights again and again"
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
        objectives, ratio = self._objectives, self.converged_ratio
        if self._is_converged(now, series) or (
            verdict != "not finite" and objectives is not None and objectives.are_learned(ratio)
        ):
            verdict = ""
        elif verdict != "not finite" and abs(now - then) < series.noise() * (
            RISES if verdict == "rose" else 1
        ):
            # No rise, and no end of a plateau: the losses of single batches scatter as much.
            is_steady = self.plain_only and series.noise() < STEADY * abs(now)
            is_none = (series.is_short or is_steady) and now >= then
            verdict = "plateau" if series.bad or verdict == "plateau" or is_none else ""
        if verdict == "rose" and self._circumstances.targets_grew(name, then_step.number):
            verdict = ""
        peak, rate = self._rates
        if verdict == "plateau" and self.plain_only and rate < WINDING_DOWN * peak:
            verdict = ""  # a schedule that comes to its end holds the loss where it is
        learned = self._is_boosted and self.plain_only and 0 < now < BOOSTED * series.first
        if verdict == "plateau" and learned:
            verdict = ""  # trees add less and less
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
            pair = then_step, then, now
            found = self._finding(name, step, verdict, pair, reason, series.smooth, mode)
            is_waited_for = self.plain_only and not series.is_short
            is_unexplained = reason is None or reason.cause == "data"
            if is_waited_for and verdict == "plateau" and is_unexplained:
                series.waiting = found
            else:
                yield found
        yield from self._waited(series, step, now, is_plateau=series.bad)

    def _waited(
        self, series: LossHistory, step: StepView | StepNumber, now: float, *, is_plateau: bool
    ) -> Findings:
        """Yield a plateau that nothing explains once it has lasted, if it does."""
        found = series.waiting
        if found is None:
            return
        if not is_plateau or now <= FELL * cast("float", found.evidence["now"]):
            series.waiting = None
        elif isinstance(step, StepView):
            began = found.step if found.mode_step is None else found.mode_step
            if step.mode_step - began >= WAIT:
                series.waiting = None
                yield found

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
        return self._is_converged(series.last, series)

    def _is_converged(self, now: float, series: LossHistory) -> bool:
        if self.converged_loss is not None and now < self.converged_loss:
            return True
        ratio, floor = self.converged_ratio, series.floor or 0.0
        first = series.first - floor
        return ratio is not None and first > 0 and now - floor <= ratio * first

    def _has_learned(self, loss: str, now: float) -> bool:
        """Return whether a loss is below what guessing costs, and guesses are not by chance."""
        seen = self._guesses.get(f"confusion/{loss.partition('/')[2]}")
        counts = added(seen).astype(np.float64) if seen else np.zeros((0, 0))
        return agreement_z(counts) > NO_CHANCE and now < entropy(counts.sum(1))

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
        may_be_all = verdict == "plateau" and (reason is None or reason.cause in _NOTHING_WRONG)
        has_learned = self.plain_only and may_be_all and self._has_learned(name, now)
        if has_learned:
            reason = Reason("learned", _LEARNED, _MAY_BE_ALL)
        by_reward = self._circumstances.by_reward and verdict != "not finite"
        begin = {"plateau": " does not fall", "rose": " rises"}.get(verdict, "")
        return self.finding(
            step,
            name,
            f"{name}{begin}: {number(then)} at step {then_step.train_step}, {number(now)} at step"
            f" {step.train_step}{median}: {what}{'; ' + reason.sentence if reason else ''}",
            # As a policy becomes better, so do its returns, and values are behind them.
            severity="info" if by_reward or has_learned else "warning",
            condition="settled" if has_learned else "",
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
        usual: Below it a loss is what it was before.
    """

    name: str
    step: StepNumber
    mode: str
    loss: float
    median: float
    score: float
    is_high: bool
    usual: float


@dataclass(slots=True)
class _OfDensity:
    """A jump of a loss below zero, until it is known whether the losses after it come back.

    Args:
        spike: The jump.
        recent: The losses of its name.
        at: How many losses there were before it.
        news: What was new of the batches since; ``None`` where no step showed them.
    """

    spike: _Spike
    recent: RecentLosses
    at: int
    news: str | None

    @property
    def num_after(self) -> int:
        return self.recent.count - self.at - 1

    @property
    def is_back(self) -> bool:
        """Whether the losses after it are as those before; false if there are none."""
        return self.num_after > 0 and self.recent.median(self.num_after) < self.spike.usual


# So many losses tell whether a loss came back, within so many robust deviations of its median.
_SOON, _USUAL = 5, 3.0


class LossSpike(Rule):
    """A training loss that jumps far out of its recent range.

    A loss that is always positive must be far out on a logarithmic scale, too: the batches of one
    near zero differ by orders of magnitude, and that is no spike. Nor is a high loss of a single
    target a warning: it is no mean, and that of one surprising sample.

    It is a warning where the loss is above all that it began with, the first 20, and information
    else; also where the batches became others with it, as in a curriculum: of another shape than
    any before, or with another number of targets. Where another optimizer begins, so does another
    training. Between full steps that shows at the next one, which is waited for. A loss below zero
    is that of a log density, which samples far from what is expected make as large as they are
    far: a jump of it is a warning only if the ``_SOON`` losses after it are not as those before.
    ``horizon_steps``
    later it is reported whether the loss stayed up or went on rising; a loss that came back gives
    no further finding, nor does one below ``of_first`` of what it began at that has lost more than
    half of the jump, by factors. Of policies and values of actions only a loss that went on rising
    is reported: their targets move, as when a target network is copied, and grow with the returns.
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
        self._of_density: list[_OfDensity] = []
        self._staged: set[str] = set()  # losses whose last spike is a new stage
        # Of policies, and values of actions, targets move: a target network is copied, returns grow
        self._by_reward = False
        self._single: set[str] = set()  # losses of one target

    def check(self, step: StepView) -> Findings:
        news = self._stages.news(step)
        if any(step.scalar("optimizer/begins", worker) > 0 for worker in step.workers):
            self._recent.clear()  # another training, as of the next part of a script
        for label in step.tensors("labels"):
            name = f"loss/{label.name.partition('/')[2]}"
            (self._single.add if label.statistics.count == 1 else self._single.discard)(name)
        self._by_reward |= learns_by_reward(step)
        if news is not None:
            yield from self._settle(news)
            for one in self._of_density:
                one.news = one.news or news
        for name, loss in losses_of(step, self._losses).items():
            recent = self._recent.get(name)
            if recent is None:
                recent = self._recent[name] = RecentLosses(self.window)
            first = abs(self._first.of(name, loss))
            least = self.of_first * first
            self._highest.of(name, loss)
            if recent.spike is not None and recent.count - recent.spike.at >= self.horizon_steps:
                yield from self._aftermath(name, step, recent, first)
            if recent.count >= self.warmup_steps and not abs(loss) < least:
                yield from self._evaluate(name, step, recent, loss, news)
            recent.add(loss)
        if self._of_density:
            yield from self._judge_returns()

    def finish(self) -> Findings:
        yield from self._judge_returns(at_end=True)
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
            if self._by_reward:
                return
            # Most come back; what is told of one that does not is a warning.
            is_high = not loss < self._highest.of(name, loss) and name not in self._single
            usual = median + rise * _USUAL / score
            spike = _Spike(name, step.at, step.mode.value, loss, median, score, is_high, usual)
            if is_high and not news and min(recent.losses) < 0:
                self._of_density.append(_OfDensity(spike, recent, recent.count, news))
            else:
                yield from self._report(spike, news)

    def _report(self, spike: _Spike, news: str | None) -> Findings:
        if spike.is_high and news is None and self._stages.are_alike:
            self._waiting.append(spike)
        else:
            yield self._finding(spike, news or "")

    def _judge_returns(self, *, at_end: bool = False) -> Findings:
        """Report jumps of losses below zero after which there were losses enough, or all."""
        waiting, self._of_density = self._of_density, []
        for one in waiting:
            if one.num_after < _SOON and not at_end:
                self._of_density.append(one)
            elif one.is_back and not one.news:
                yield self._finding(replace(one.spike, is_high=False), "", num_back=one.num_after)
            else:
                yield from self._report(one.spike, one.news)

    def _settle(self, news: str) -> Findings:
        waiting, self._waiting = self._waiting, []
        for spike in waiting:
            yield self._finding(spike, news)

    def _finding(self, spike: _Spike, news: str, *, num_back: int = 0) -> Finding:
        if news:
            self._staged.add(spike.name)
        return self.finding(
            spike.step,
            spike.name,
            f"{spike.name}: {number(spike.loss)} at step {spike.step.train_step} is"
            f" {number(spike.score)}"
            f" robust standard deviations above the median {number(spike.median)} of the"
            f" {self.window} before (> {number(self.k)})"
            + (f"; a new stage of training began: {news}" if news else "")
            + (f"; the {num_back} after it are as before" if num_back else ""),
            mode=spike.mode,
            severity="warning" if spike.is_high and not news else "info",
            value=spike.score,
            threshold=self.k,
            remedy="nothing, if the harder batches are meant"
            if news
            else "nothing, if samples may be far from what is expected; else look at this batch"
            if num_back
            else "look at the batches of this step and the one before; restart before it"
            " and skip them, or lower the learning rate",
            evidence={
                "loss": spike.loss,
                "median": spike.median,
                **({"new_stage": news} if news else {}),
            },
        )

    def _aftermath(self, name: str, step: StepView, recent: RecentLosses, first: float) -> Findings:
        spike, recent.spike = recent.spike, None
        after = recent.median(self.horizon_steps)
        if spike is None or after - spike.median <= self.min_rise * abs(spike.median):
            return
        # One near zero differs by factors: of these more than half are gone, as where weights were
        # set back and it converges anew.
        if 0 < after < self.of_first * first and after**2 < spike.median * spike.loss:
            return
        yield from self._settle("")
        diverged = not after < spike.loss
        if self._by_reward and not diverged:
            return
        what = "diverged" if diverged else "stayed up"
        usual = "info" if name in self._staged else "warning"
        yield self.finding(
            step,
            name,
            f"{name}: {step.train_step - spike.step.train_step} steps after the spike at step"
            f" {spike.step.train_step} its median"
            f" is {number(after)}, before it was {number(spike.median)}: training {what}",
            value=after,
            threshold=spike.median * (1 + self.min_rise),
            severity="error" if diverged else usual,
            condition=f"{name} {what}",
            remedy=f"restart from a checkpoint before step {spike.step.train_step}",
        )
