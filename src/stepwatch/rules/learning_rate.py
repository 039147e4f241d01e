"""The rule on learning rates that do not follow a schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import (
    Findings,
    Rule,
    Selection,
)
from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..numerics.measures import number, robust_z, scalar_value
from ..numerics.statistics import MAX
from .history import Series
from .plateau import Plateau
from .shared import is_scalar, losses_of, means

#: What is known of how often a training updates, and its schedules are stepped.
_LOOP = tuple(
    f"loop/{what}"
    for what in (
        "optimizer_steps", "scheduler_steps", "backwards", "schedulers", "scheduler_level",
        "scheduler_total",
    )
)  # fmt: skip
_MADE_FOR = "steps", "total"
#: A schedule that is stepped so many times as often as the optimizer, or more, is stepped in a
#: loop that is not that of the steps: two schedules may take turns, three do not.
TOO_OFTEN = 3
#: So many steps of a schedule tell whether its function returns rates, or a warm-up only begins
#: there; and to such a part what it returns is the same.
FACTORS, SAME = 2, 1e-6
#: Where the script steps one schedule only.
TWICE = 1.9
#: Below this fraction of what a schedule starts from a learning rate waits for its warm-up; or
#: below this where it climbs to the end, by a schedule that hardly ever steps.
WARM, CLIMBING = 0.1, 0.5
#: Changes in a row that make a schedule, and no milestone; and how many times as long as all its
#: steps together what comes after it may be.
SMOOTH, MOST_REST = 10, 3
#: So many changes at steps that follow each other make one, too, if it falls to such a part.
STEEP, STEEP_TO = 5, 0.1
#: From such a part of its peak, and back to it by so many changes, it swings.
SWING, CLIMBS = 0.5, 3
#: Below this fraction of its peak a learning rate is near its end.
LOW = 0.01
#: So many steps of a schedule make a run that it ends in its warm-up of; and so many where it was
#: made for at least half the steps of the optimizer.
LATE, LATE_OF_STEPS, MADE_OF_STEPS = 5, 3, 0.5
#: A learning rate of an optimizer that is no rate but left to the factors of its schedule.
FACTOR_ONLY = 0.5
#: Milestones that all lie in such a part of a training are meant in epochs.
EARLY = 0.1
#: A decay compounds over so many changes at least: the logarithms of their ratios differ by the
#: same number, within this share of it, and the last is so many times the first; it fell to such a
#: share within these changes, and to such a share of its peak. Of a cosine, or a line to zero, the
#: differences grow as fast as it falls.
COMPOUNDS, EVEN, SHRINKS, FALLS, DECAYED = 6, 0.02, 1.5, 1 / 3, 1 / 20


@dataclass(slots=True)
class _Compounding:
    """Changes downwards in a row, each by a ratio that is one factor times the one before.

    Args:
        first: Logarithm of the rate at the first change.
        first_ratio: Logarithm of the ratio of the second change to the first.
        last: Logarithm of the rate at the last change.
        last_ratio: Logarithm of the ratio of the last change to the one before; nan for none.
        step: The TRAIN step of the last change.
        shortest: The fewest steps from one change to the next.
        differences: What each logarithm of a ratio had more than the one before, summed,
        count: and how many there were.
    """

    first: float = math.nan
    first_ratio: float = math.nan
    last: float = math.nan
    last_ratio: float = math.nan
    step: int = 0
    shortest: float = math.inf
    differences: float = 0.0
    count: int = 0

    def add(self, step: int, rate: float) -> None:
        """Take in a change of the learning rate, to ``rate``."""
        now, gap = math.log(rate) if rate > 0 else math.nan, step - self.step
        ratio = now - self.last
        difference = ratio - self.last_ratio
        mean = self.differences / self.count if self.count else difference
        is_even = self.shortest == math.inf or self.shortest <= 2 * gap <= 4 * self.shortest
        if not (is_even and difference < 0 and abs(difference - mean) <= -EVEN * mean):
            # What is here may begin another one, with the two changes before this.
            begins = difference < 0 and is_even
            self.first, self.first_ratio = self.last, ratio
            if begins:
                self.first, self.first_ratio = self.last - self.last_ratio, self.last_ratio
            self.differences, self.count, self.shortest = 0.0, 0, math.inf
        if difference < 0:
            self.differences, self.count = self.differences + difference, self.count + 1
        if not math.isnan(self.last):
            self.shortest = min(self.shortest, gap)
        self.last, self.last_ratio, self.step = now, ratio, step

    @property
    def num_changes(self) -> int:
        return self.count + 2

    @property
    def factor(self) -> float:
        """What each ratio is times the one before."""
        return math.exp(self.differences / self.count)

    def holds(self) -> bool:
        """Return whether these are enough, and fell far enough."""
        return (
            self.num_changes >= COMPOUNDS
            and self.last_ratio < SHRINKS * min(self.first_ratio, 0.0)
            and self.last - self.first < math.log(FALLS)
        )


#: So often a rate must be seen that is next to nothing.
LEAST_LOOKS = 3


_FIRST = StepNumber(0, 0)


@dataclass(slots=True)
class _Swing:
    """How often a learning rate came back to half of its peak, step by step from next to nothing.

    Args:
        was_high: It had half of its peak,
        was_low: and then fell to a part of it.
        back_at: The TRAIN step at which it came back last; -1 for never.
        period: From the time before until then; infinite where there is none.
    """

    was_high: bool = False
    was_low: bool = False
    back_at: int = -1
    period: float = math.inf

    def add(self, step: int, share: float, num_climbs: int) -> None:
        """Take in its share of the peak, after so many changes upwards in a row."""
        is_high = share >= SWING
        if is_high and self.was_low:
            is_again = num_climbs >= CLIMBS  # a restart jumps
            self.period = step - self.back_at if is_again and self.back_at >= 0 else math.inf
            self.back_at, self.was_low = step if is_again else -1, False
        self.was_high |= is_high
        self.was_low |= self.was_high and share <= STEEP_TO


@dataclass(slots=True)
class _Rate:
    """What the learning rate of one group was.

    Args:
        peak: The largest.
        last: The last.
        low: What it last fell to, near its end.
        num_rises: Changes upwards in a row since then.
        at_end: TRAIN steps in a row that were seen with next to nothing.
        ended_at: The first of them.
        below_zero: TRAIN steps in a row that were seen with less than nothing.
        num_falls: Changes downwards in a row, at the last TRAIN steps of a schedule.
        num_steep: Those of them at TRAIN steps that follow each other.
        changed_at: The TRAIN step at which it changed last.
        num_climbs: Changes upwards in a row, at the last TRAIN steps.
        num_drops: Changes downwards so far.
        is_short: It was reported as one of a schedule that is too short.
        compounding: Its last changes, if each is by a smaller ratio than the one before.
        swing: How it went down and up again.
    """

    peak: float = 0.0
    last: float = math.nan
    low: float = 0.0
    num_rises: int = 0
    at_end: int = 0
    ended_at: StepNumber = _FIRST
    below_zero: int = 0
    num_falls: int = 0
    num_steep: int = 0
    num_climbs: int = 0
    changed_at: int = 0
    num_drops: int = 0
    is_short: bool = False
    compounding: _Compounding = field(default_factory=_Compounding)
    swing: _Swing = field(default_factory=_Swing)


@dataclass(slots=True)
class _Jump:
    """A jump of the learning rate whose effect on the losses is waited for."""

    step: int
    name: str
    before: float
    after: float
    losses_before: dict[str, list[float]]
    losses_after: dict[str, list[float]] = field(default_factory=dict)


_STEP_IT = (
    "call scheduler.step() after each optimizer.step(), or once an epoch if the schedule is made in"
    " epochs; in Lightning return it with 'interval': 'step'"
)


_LENGTH = (
    "make the schedule as long as the training: in PyTorch it counts calls of scheduler.step(), so"
    " call it once an epoch if it is meant in epochs; in Keras and optax it counts steps of the"
    " optimizer, so multiply what is meant in epochs by the steps of an epoch"
)
_NOT_BELOW = "or keep the schedule from falling below 0: by max(0, ...), or jnp.maximum in JAX"
_FROM_ZERO = (
    "look at what sets it: a rate of 0, a schedule that is at its end from the start, or a warm-up"
    " from 0 whose count stays, as where scheduler.step() is not called in PyTorch, or the state of"
    " the optimizer is not passed on in JAX"
)


class LearningRateAnomaly(Rule):
    """A learning rate that a schedule, stepped too often or made too short, has led astray.

    A run is compared with itself: the largest learning rate of a group so far. ``per_micro_batch``:
    the schedule took as many steps as there were backward calls, several for each step of the
    optimizer. ``too_often``: it took three or more steps for each, or two if there is one schedule,
    and no other worker can be the reason. ``never_stepped``: a schedule was made and is not
    stepped, over two evaluations, while the learning rate is below a tenth of what the schedule is
    for. ``slow``: after ``slow_steps`` it still is, and is stepped more rarely than the optimizer;
    ``slow_at_end``: at the end of the run, after a few steps of the schedule, it still is.
    ``compounded``: it fell to a twentieth by ratios that shrink by a constant factor, as where a
    decay that grows with the epoch is applied to the rate of the epoch before. ``short``: it fell
    step by step to less than half, or within a few steps that follow each other to a tenth, and has
    stood still for more than three times as long as all steps until then, and ``slow_steps``.
    ``ended``: the learning rate stayed below ``ended_ratio`` of its peak for more than
    ``end_steps`` TRAIN steps and 2% of all; ``zero``: it was never above 0. ``negative``: it fell
    below 0, as a line does beyond its end, in three steps in a row. ``turned``: it came to
    its end and rose again step by step, as a cosine does beyond its length; a restart jumps. Or it
    goes there and back within one pass through the data, as its schedule was made for fewer steps.
    ``jump``: it rose to more than three times the largest before, and the losses jumped with it.
    ``rate_for_factor``: the function of ``LambdaLR`` returns the initial rate itself where it
    returns most, and not a factor of it.
    ``direction``: ``ReduceLROnPlateau`` lowered it though its metric became better, as it was told
    that of a loss more is better, or less of an accuracy.
    """

    name = "learning_rate_anomaly"
    needs = ("learning_rates", "loop", "losses")
    needed_steps = "end_steps"
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {
        "ended*": "schedule",
        "zero*": "schedule",
        "turned*": "schedule",
        "short*": "schedule",
        "compounded*": "schedule",
        "slow*": "schedule",
        "never_stepped*": "schedule",
        "too_often*": "schedule",
        "per_micro_batch*": "schedule",
        "direction*": "schedule",
        "rate_for_factor*": "schedule",
        "*": "rate",
    }

    ended_ratio: float = parameter(
        5e-4, "Below this fraction of its peak a rate is as good as zero.", above=0, at_most=0.5
    )
    end_steps: int = parameter(20, "TRAIN steps in a row.", at_least=1)
    jump_ratio: float = parameter(
        3.0, "So many times the largest learning rate before is a jump.", above=1
    )
    slow_steps: int = parameter(
        100, "TRAIN steps that a learning rate may wait at one height.", at_least=1
    )

    def begin(self) -> None:
        self._rates: dict[tuple[str, str], _Rate] = {}
        self._first = StepNumber(0, 0)
        self._losses = Selection(("losses",), keep=is_scalar)
        self._recent: Series[str, float] = Series(50)
        self._jump: _Jump | None = None
        self._warm: set[str] = set()
        # Of each worker what was last known of its schedules, and the highest learning rate there.
        self._schedules: dict[str, tuple[Sequence[float], float]] = {}
        # Of each worker the initial rate that functions return, where they return no more.
        self._returned: dict[str, float] = {}
        self._last_step = StepNumber(0, 0)
        self._rounds = 0
        self._trained = False
        self._plateaus: dict[str, Plateau] = {}

    def check(self, step: StepView) -> Findings:
        self._rounds += self._trained and not step.trains
        self._trained = step.trains
        yield from self._evaluate_plateau(step)
        rates = list(step.groups("learning_rates")) if step.trains else []
        if not rates:
            return
        self._steps += 1
        self._last_step = step.at
        if self._steps == 1:
            self._first = step.at
        for record in step.records:
            if "loop" not in record.layout.rows_of:
                continue  # as between full steps
            worker = record.worker
            loop = step.scalars(_LOOP, worker)
            if not all(map(math.isnan, loop)):
                if (before := step.scalar("loop/unscheduled_steps", worker)) > 0:
                    loop = [loop[0] - before, *loop[1:]]
                yield from self._evaluate_pace(step, worker, loop)
                self._returned[worker] = step.scalar("loop/rate_for_factor", worker)
                _, scheduled, _, _, level, _ = loop
                if scheduled >= FACTORS and level < (1 - SAME) * self._returned[worker]:
                    yield self._rate_for_factor(step.at, worker, level)
                yield from self._evaluate_level(step, worker, loop)
        for group in rates:
            tensors = group.record.layout.tensors
            worker = group.record.worker
            for row, value in zip(group.rows.tolist(), means(group), strict=True):
                yield from self._evaluate_rate(step, worker, tensors[row].name, value)
                yield from self._evaluate_swing(step, worker, tensors[row].name)
        yield from self._evaluate_jump(step)

    def _evaluate_plateau(self, step: StepView) -> Findings:
        """Judge what ``ReduceLROnPlateau`` is told, by the losses of each worker."""
        for record in step.records:
            rows = record.layout.rows_of.get("losses")
            is_one = rows is not None and len(rows) == 1
            loss = scalar_value(record.statistics[rows][0]) if is_one else math.nan
            plateau = self._plateaus.setdefault(record.worker, Plateau())
            if not step.trains:
                plateau.add_evaluation(loss)
                continue
            held = record.layout.rows_of.get("learning_rates", ())
            rate = max((float(record.statistics[row, MAX]) for row in held), default=0.0)
            for found in plateau.add(step, record.worker, loss, rate):
                yield self.finding(
                    step,
                    found.tensor,
                    f"what ReduceLROnPlateau is given {found.text}",
                    condition=f"direction {found.mode}",
                    worker=record.worker,
                    value=found.last,
                    threshold=found.first,
                    remedy=f"make it with mode={'max' if found.mode == 'min' else 'min'!r}",
                )

    def _evaluate_pace(self, step: StepView, worker: str, loop: Sequence[float]) -> Findings:
        steps, scheduled, parts, *_ = loop
        if not steps >= self.end_steps or not scheduled > 0:
            return
        pace = scheduled / steps
        alone = len(step.workers) == 1 and not step.others
        near = parts >= 2 and abs(pace - parts) <= 0.1 * parts
        condition = "per_micro_batch" if near else "too_often"
        single = step.scalar("loop/schedulers_stepped", worker) == 1
        holds = near or (alone and pace >= (TWICE if single else TOO_OFTEN))
        if self.persists(worker, holds, self.end_steps):
            yield self.finding(
                step,
                "loop/scheduler_steps",
                f"the schedule took {number(scheduled)} steps and the optimizer {number(steps)} up"
                f" to step {step.train_step}: {number(pace)} for each"
                + (", as many as there are backward calls" if near else ""),
                worker=worker,
                value=pace,
                threshold=float(TOO_OFTEN),
                condition=condition,
                remedy="call scheduler.step() once after each optimizer.step(), or make the"
                " schedule as much longer",
            )

    def _evaluate_level(self, step: StepView, worker: str, loop: Sequence[float]) -> Findings:
        """Judge how far a schedule came from where its warm-up begins."""
        steps, scheduled, _, made, level, _ = loop
        highest = max(
            (one.scalar for one in step.tensors("learning_rates", worker=worker)), default=0
        )
        self._schedules[worker] = loop, highest
        if level >= WARM:
            self._warm.add(worker)  # what falls again later waits for no warm-up
        waits = made > 0 and worker not in self._warm and level < WARM and steps >= self.slow_steps
        never = waits and scheduled == 0 and self._rounds >= 2
        slow = waits and 0 < scheduled < WARM * steps and not self._returned[worker] > 0
        if not never and not slow:
            return
        yield self.finding(
            step,
            "loop/scheduler_steps",
            f"the learning rate is {number(level)} of what its schedule is for, after"
            f" {number(steps)} steps of the optimizer and {number(scheduled)} of the schedule up to"
            f" step {step.train_step}",
            severity="warning" if never else "info",
            worker=worker,
            value=level,
            threshold=WARM,
            condition="never_stepped" if never else "slow",
            remedy=_STEP_IT,
        )

    def _rate_for_factor(self, at: StepNumber, worker: str, level: float) -> Finding:
        """Report functions that return a rate, where they are asked for a factor of it."""
        rate = self._returned[worker]
        self._warm.add(worker)  # a low rate has its reason
        return self.finding(
            at,
            "loop/rate_for_factor",
            f"the function of LambdaLR returns {number(rate)}, which is the initial learning rate"
            f" itself, and never more: it is multiplied by it, so the learning rate is at most"
            f" {number(rate * rate)}",
            mode="TRAIN",
            worker=worker,
            value=level,
            threshold=1.0,
            condition="rate_for_factor",
            remedy="return a factor, which begins at 1: take the initial learning rate out of the"
            " function; or give the optimizer lr=1.0 and let the function return the rate",
        )

    def finish(self) -> Findings:
        for worker, (loop, then) in self._schedules.items():
            if self._returned[worker] > 0 and loop[1] >= FACTORS and worker not in self._warm:
                yield self._rate_for_factor(self._last_step, worker, loop[4])
            rates = [rate for (of, _), rate in self._rates.items() if of == worker]
            yield from self._evaluate_warm_up(worker, loop, then, rates)
        for (worker, name), rate in self._rates.items():
            yield from self._evaluate_early(worker, name, rate)

    @property
    def _num_trained(self) -> int:
        return self._last_step.train_step - self._first.train_step + 1

    def _evaluate_warm_up(
        self, worker: str, loop: Sequence[float], then: float, rates: Sequence[_Rate]
    ) -> Findings:
        """Judge a training that ends before its learning rate is what its schedule is for.

        Args:
            loop: What was last known of the schedule; learning rates are known to the end.
            then: The highest learning rate at that step.
            rates: Those of the worker.
        """
        steps, scheduled, _, made, level, total = loop
        if not (made > 0 and level > 0 and then > 0 and scheduled > 0):
            return
        # Of a budget that step may be long ago: the schedule went on as it did.
        passed, meant = max(1.0, self._num_trained / steps), then / level
        steps, scheduled = round(passed * steps), round(passed * scheduled)
        level = max(rate.peak for rate in rates) / meant
        is_slow = scheduled < WARM * steps
        rests = self._last_step.train_step - max(rate.changed_at for rate in rates)
        moving = [rate for rate in rates if rate.changed_at > self._first.train_step] or rates
        is_highest = any(rate.last >= rate.peak for rate in moving)
        rises = is_highest and rests <= LATE
        still_climbs = is_slow and is_highest and rests <= TWICE * steps / scheduled
        limit = CLIMBING if still_climbs else WARM
        if level >= limit or steps < self.slow_steps or (worker in self._warm and not still_climbs):
            return
        of_steps = total >= MADE_OF_STEPS * steps
        if is_slow and scheduled < (LATE_OF_STEPS if of_steps else LATE):
            return
        if is_slow and not is_highest:
            return  # it decays, as of a training that was resumed
        # An optimizer whose rate is 1 leaves it to its schedule.
        if not is_slow and not (rises and meant < FACTOR_ONLY):
            return
        made_for = f", which was made for {number(total)}," if is_slow and of_steps else ""
        yield self.finding(
            self._last_step,
            "loop/scheduler_steps",
            f"the training ends in its warm-up: the learning rate is {number(level)} of what"
            f" its schedule is for, after {number(steps)} steps of the optimizer and"
            f" {number(scheduled)} of the schedule{made_for} at step {self._last_step.train_step}",
            worker=worker,
            mode="TRAIN",
            value=level,
            threshold=limit,
            onset=self._first,
            condition="slow_at_end" if is_slow else "long_warm_up",
            remedy=_STEP_IT
            if is_slow
            else "make the warm-up shorter than the training, in steps of the optimizer: 1% to 10%"
            " of them is usual (warmup_ratio in Transformers)",
        )

    def _evaluate_early(self, worker: str, name: str, rate: _Rate) -> Findings:
        """Judge a learning rate whose milestones all lie at the very beginning."""
        trained, until = self._num_trained, rate.changed_at - self._first.train_step
        is_early = until < EARLY * trained and trained >= 2 * self.slow_steps
        if rate.is_short or rate.num_drops < 2 or not is_early or rate.last > rate.peak / 10:
            return
        yield self.finding(
            self._last_step,
            name,
            f"{name}: it fell from {number(rate.peak)} to {number(rate.last)} within {until} TRAIN"
            f" steps and stayed there for {trained - until}: all milestones of its schedule lie in"
            f" the first {EARLY:.0%} of the training",
            worker=worker,
            mode="TRAIN",
            value=until / trained,
            threshold=EARLY,
            condition=f"early {name}",
            remedy="boundaries of a schedule are steps of the optimizer in Keras and optax, and"
            " calls of scheduler.step() in PyTorch: multiply those meant in epochs by the steps of"
            " an epoch",
        )

    def _evaluate_compounding(
        self, step: StepView, worker: str, name: str, rate: _Rate
    ) -> Findings:
        found = rate.compounding
        if not (found.holds() and rate.last < DECAYED * rate.peak):
            return
        yield self.finding(
            step,
            name,
            f"{name}: it fell to {number(rate.last / rate.peak)} of its largest at step"
            f" {step.train_step}, and at its last {found.num_changes} changes each ratio to the one"
            f" before was {number(found.factor)} times the last: the decay compounds",
            worker=worker,
            value=rate.last,
            threshold=DECAYED * rate.peak,
            condition=f"compounded {name}",
            remedy="compute the rate from the initial one, not from the current one: a decay that"
            " grows with the epoch is applied again in each epoch",
        )

    def _evaluate_rest(self, step: StepView, worker: str, name: str, rate: _Rate) -> Findings:
        """Judge how long a learning rate has stood still since it fell step by step."""
        # In steps of the training, of which a budget may observe few.
        before, since = rate.changed_at - self._first.train_step, step.mode_step - rate.changed_at
        long = since > MOST_REST * before and since >= self.slow_steps
        if long and rate.last < rate.peak / 2:
            rate.is_short = True
            yield self.finding(
                step,
                name,
                f"{name}: it fell to {number(rate.last / rate.peak)} of its largest within {before}"
                f" TRAIN steps and has stood still for {since} up to step {step.train_step}: the"
                " schedule is shorter than the training",
                worker=worker,
                value=rate.last,
                threshold=rate.peak / 2,
                condition=f"short {name}",
                remedy=_LENGTH,
            )

    def _evaluate_rate(self, step: StepView, worker: str, name: str, value: float) -> Findings:
        rate = self._rates.get((worker, name))
        if rate is None:
            rate = self._rates[worker, name] = _Rate()
        before, rate.last = rate.last, value
        if value > self.jump_ratio * rate.peak > 0 and self._jump is None:
            losses = {loss: list(recent) for loss, recent in self._recent.items()}
            self._jump = _Jump(step.train_step, name, rate.peak, value, losses)
        if 0 < value < LOW * rate.peak and before > 10 * LOW * rate.peak:
            rate.peak = value  # no schedule falls so far at once: somebody set another one
        rate.peak = max(rate.peak, value)
        ended = value <= self.ended_ratio * rate.peak
        rate.at_end = rate.at_end + 1 if ended else 0
        if rate.at_end == 1:
            rate.ended_at = step.at
        # In steps of the training, of which a budget may observe few.
        num_steps = step.mode_step - rate.ended_at.train_step + 1
        trained = step.mode_step - self._first.train_step + 1
        rate.below_zero = rate.below_zero + 1 if value < 0 < rate.peak else 0
        if rate.below_zero == LEAST_LOOKS:
            yield self.finding(
                step,
                name,
                f"{name}: {number(value)} at step {step.train_step}, after a largest of"
                f" {number(rate.peak)}: by a negative rate the loss is made larger, not smaller",
                worker=worker,
                value=value,
                threshold=0.0,
                onset=rate.ended_at,
                condition=f"negative {name}",
                remedy=f"{_LENGTH}; {_NOT_BELOW}",
            )
        elif (
            rate.at_end >= LEAST_LOOKS
            and value >= 0
            and num_steps > max(self.end_steps, 0.02 * trained)
        ):
            what = "0 from the first step on"
            if rate.peak:
                what = f"less than {number(self.ended_ratio)} of its largest {number(rate.peak)}"
            yield self.finding(
                step,
                name,
                f"{name}: {number(value)} at step {step.train_step}, {what}, for {num_steps} TRAIN"
                " steps: nothing is trained with it",
                worker=worker,
                value=value,
                threshold=self.ended_ratio * rate.peak,
                onset=rate.ended_at,
                condition=f"{'ended' if rate.peak else 'zero'} {name}",
                remedy=_LENGTH if rate.peak else _FROM_ZERO,
            )
        is_low = value < LOW * rate.peak
        if value != before:
            is_next = step.mode_step == rate.changed_at + 1
            rate.num_steep = (rate.num_steep * is_next + 1) if value < before else 0
            rate.changed_at = step.mode_step
            if not math.isnan(before):
                rate.compounding.add(step.mode_step, value)
                yield from self._evaluate_compounding(step, worker, name, rate)
            rate.num_falls = rate.num_falls + 1 if value < before else 0
            rate.num_climbs = rate.num_climbs + 1 if value > before else 0
            rate.num_drops += value < before
            if rate.peak:
                rate.swing.add(step.mode_step, value / rate.peak, rate.num_climbs)
        is_steep = rate.num_steep >= STEEP and value <= STEEP_TO * rate.peak
        if rate.num_falls >= SMOOTH or is_steep:
            yield from self._evaluate_rest(step, worker, name, rate)
        if value > before:
            # a restart leaves the low end in one jump
            rate.num_rises += 1 if is_low or rate.num_rises else 0
        elif value < before:
            rate.num_rises = 0
        if is_low and not rate.num_rises:
            rate.low = value
        if rate.num_rises > self.end_steps:
            yield self.finding(
                step,
                name,
                f"{name}: it fell to {number(rate.low)} and rises again, to {number(value)} at step"
                f" {step.train_step}: the schedule is shorter than the training",
                worker=worker,
                value=value,
                threshold=rate.low,
                condition=f"turned {name}",
                remedy=_LENGTH,
            )

    def _evaluate_swing(self, step: StepView, worker: str, name: str) -> Findings:
        """Judge a schedule that goes to its end and back again within one pass through the data."""
        period, epoch = self._rates[worker, name].swing.period, step.scalar("loop/epoch", worker)
        scheduled, total = (step.scalar(f"loop/scheduler_{what}", worker) for what in _MADE_FOR)
        passes = step.train_step / (epoch + 1)  # so long at least, in steps
        if period < passes and scheduled > total:
            yield self.finding(
                step,
                name,
                f"{name}: it went from its largest to its smallest and back every"
                f" {number(period)} steps, up to step {step.train_step}, and a pass through the"
                f" data has {number(passes)} or more: the schedule was made for {number(total)}"
                f" steps and took {number(scheduled)}",
                worker=worker,
                value=scheduled,
                threshold=total,
                condition=f"turned {name}",
                remedy=_LENGTH,
            )

    def _evaluate_jump(self, step: StepView) -> Findings:
        jump = self._jump
        for name, loss in losses_of(step, self._losses).items():
            self._recent.add(name, loss)
            if jump is not None:
                jump.losses_after.setdefault(name, []).append(loss)
        if jump is None or all(len(losses) < 10 for losses in jump.losses_after.values()):
            return
        self._jump = None
        for name, before in jump.losses_before.items():
            after = float(np.median(jump.losses_after.get(name, [math.nan])))
            score, median = robust_z(after, before)
            if len(before) < 20 or not (score > 6 and after > 1.2 * abs(median)):
                continue
            yield self.finding(
                step,
                jump.name,
                f"{jump.name}: it rose from {number(jump.before)} to {number(jump.after)} at step"
                f" {jump.step}, and {name} from {number(median)} to {number(after)}",
                value=jump.after,
                threshold=self.jump_ratio * jump.before,
                condition="jump",
                remedy="check what sets the learning rate at this step; restart from before it",
            )
            return
