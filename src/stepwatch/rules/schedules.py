"""Learning rates that do not do what a schedule is for."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..finding import Finding
from .checks import number, robust_z
from .loss_memory import is_scalar, losses_of
from .rule import Findings, Rule
from .scalars import InARow, few_steps
from .scope import Selection, above, at_least
from .step_view import StepView

#: A schedule that is stepped so many times as often as the optimizer, or more, is stepped in a
#: loop that is not that of the steps: two schedules may take turns, three do not.
TOO_OFTEN = 3
#: Where the script steps one schedule only.
TWICE = 1.9
#: Below this fraction of what a schedule starts from a learning rate waits for its warm-up.
WARM = 0.1
#: Changes in a row that make a schedule, and no milestone; and how many times as long as all its
#: steps together what comes after it may be.
SMOOTH, MOST_REST = 10, 3
#: Below this fraction of its peak a learning rate is near its end.
LOW = 0.01


@dataclass(slots=True)
class _Rate:
    """What the learning rate of one group was.

    Args:
        peak: The largest.
        last: The last.
        low: What it last fell to, near its end.
        num_rises: Changes upwards in a row since then.
        at_end: TRAIN steps in a row with next to nothing.
        num_falls: Changes downwards in a row, at the last TRAIN steps of a schedule.
        since: TRAIN steps since it changed last.
    """

    peak: float = 0.0
    last: float = math.nan
    low: float = 0.0
    num_rises: int = 0
    at_end: int = 0
    num_falls: int = 0
    since: int = 0


@dataclass(slots=True)
class _Jump:
    """A jump of the learning rate whose effect on the losses is waited for."""

    step: int
    name: str
    before: float
    after: float
    losses: dict[str, list[float]]
    seen: dict[str, list[float]] = field(default_factory=dict)


class LearningRateAnomaly(Rule):
    """A learning rate that a schedule, stepped too often or made too short, has led astray.

    What a run has shown itself is compared: the largest learning rate of a group so far.
    ``per_micro_batch``: the schedule took as many steps as there were backward calls, several for
    each step of the optimizer. ``too_often``: it took three or more steps for each, or two if
    there is one schedule, and no other worker can be the reason. ``never_stepped``: a schedule was
    made and is not stepped, over two evaluations, while the learning rate is below a tenth of what
    the schedule is for. ``slow``: after ``slow_steps`` it still is, and is stepped more rarely than
    the optimizer. ``short``: it fell step by step to less than half and has stood still for more
    than three times as long as all steps until then, and ``slow_steps``. ``ended``: the learning
    rate stayed below ``ended_ratio`` of its peak for more than ``end_steps`` TRAIN steps and 2% of
    all; ``zero``: it was never above 0. ``turned``: it came to its end and rose again step by step,
    as a cosine does beyond its length; a restart jumps. ``jump``: it rose to more than three times
    the largest before, and the losses jumped with it.

    Args:
        ended_ratio: Below this fraction of its peak a learning rate is as good as zero.
        end_steps: TRAIN steps in a row.
        jump_ratio: So many times the largest learning rate before is a jump. Above 1.
        slow_steps: TRAIN steps that a learning rate may wait at one height.
    """

    name = "learning_rate_anomaly"
    needs = ("learning_rates", "loop")
    per_model = True

    def __init__(
        self,
        ended_ratio: float = 5e-4,
        end_steps: int = 20,
        jump_ratio: float = 3.0,
        slow_steps: int = 100,
    ) -> None:
        above("ended_ratio", ended_ratio, 0, up_to=0.5)
        at_least("end_steps", end_steps, 1)
        above("jump_ratio", jump_ratio, 1)
        at_least("slow_steps", slow_steps, 1)
        self.slow_steps = slow_steps
        self.ended_ratio, self.end_steps, self.jump_ratio = ended_ratio, end_steps, jump_ratio
        self._rates: dict[tuple[str, str], _Rate] = {}
        self._in_a_row = InARow()
        self._losses = Selection(("losses",), keep=is_scalar)
        self._recent: dict[str, deque[float]] = {}
        self._jump: _Jump | None = None
        self._warm: set[str] = set()
        self._steps = self._rounds = 0
        self._trained = False

    def check(self, step: StepView) -> Findings:
        self._rounds += self._trained and not step.trains
        self._trained = step.trains
        rates = list(step.groups("learning_rates")) if step.trains else []
        if not rates:
            return
        self._steps += 1
        for worker in step.workers:
            yield from self._judge_pace(step, worker)
            yield from self._judge_level(step, worker)
        for group in rates:
            values = group.quantity("mean").tolist()
            for info, value in zip(group.infos, values, strict=True):
                yield from self._judge_rate(step, group.record.worker, info.name, value)
        yield from self._judge_jump(step)

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.end_steps)

    def _judge_pace(self, step: StepView, worker: str) -> Findings:
        steps, scheduled, parts = (
            step.scalar(f"loop/{what}", worker)
            for what in ("optimizer_steps", "scheduler_steps", "backwards")
        )
        if not steps >= self.end_steps or not scheduled > 0:
            return
        pace = scheduled / steps
        alone = len(step.workers) == 1 and not step.others
        near = parts >= 2 and abs(pace - parts) <= 0.1 * parts
        condition = "per_micro_batch" if near else "too_often"
        single = step.scalar("loop/schedulers_stepped", worker) == 1
        met = near or (alone and pace >= (TWICE if single else TOO_OFTEN))
        if self._in_a_row.count(worker, met) >= self.end_steps:
            yield Finding(
                self.name,
                step.number,
                "loop/scheduler_steps",
                f"the schedule took {number(scheduled)} steps and the optimizer {number(steps)} up"
                f" to step {step.number}: {number(pace)} for each"
                + (", as many as there are backward calls" if near else ""),
                worker=worker,
                value=pace,
                threshold=float(TOO_OFTEN),
                condition=condition,
                remedy="call scheduler.step() once after each optimizer.step(), or make the"
                " schedule as much longer",
            )

    def _judge_level(self, step: StepView, worker: str) -> Findings:
        """Judge how far a schedule came from where its warm-up begins."""
        steps, scheduled, made, level = (
            step.scalar(f"loop/{what}", worker)
            for what in (
                "optimizer_steps", "scheduler_steps", "schedulers", "scheduler_level"
            )
        )  # fmt: skip
        if level >= WARM:
            self._warm.add(worker)  # what falls again later waits for no warm-up
        waits = made > 0 and worker not in self._warm and level < WARM and steps >= self.slow_steps
        never = waits and scheduled == 0 and self._rounds >= 2
        slow = waits and 0 < scheduled < WARM * steps
        if not never and not slow:
            return
        yield Finding(
            self.name,
            step.number,
            "loop/scheduler_steps",
            f"the learning rate is {number(level)} of what its schedule starts from, after"
            f" {number(steps)} steps of the optimizer and {number(scheduled)} of the schedule up to"
            f" step {step.number}",
            severity="warning" if never else "info",
            worker=worker,
            value=level,
            threshold=WARM,
            condition="never_stepped" if never else "slow",
            remedy="call scheduler.step() after each optimizer.step(), or once an epoch if the"
            " schedule is made in epochs",
        )

    def _judge_rest(self, step: StepView, worker: str, name: str, rate: _Rate) -> Findings:
        """Judge how long a learning rate has stood still since it fell step by step."""
        before = self._steps - rate.since
        long = rate.since > MOST_REST * before and rate.since >= self.slow_steps
        if rate.num_falls >= SMOOTH and long and rate.last < rate.peak / 2:
            yield Finding(
                self.name,
                step.number,
                name,
                f"{name}: it fell to {number(rate.last / rate.peak)} of its largest within {before}"
                f" TRAIN steps and has stood still for {rate.since} up to step {step.number}: the"
                " schedule is shorter than the training",
                worker=worker,
                value=rate.last,
                threshold=rate.peak / 2,
                condition=f"short {name}",
                remedy="make the schedule as long as the training, in steps of the optimizer",
            )

    def _judge_rate(self, step: StepView, worker: str, name: str, value: float) -> Findings:
        rate = self._rates.setdefault((worker, name), _Rate())
        before, rate.last = rate.last, value
        if value > self.jump_ratio * rate.peak > 0 and self._jump is None:
            losses = {loss: list(recent) for loss, recent in self._recent.items()}
            self._jump = _Jump(step.number, name, rate.peak, value, losses)
        if 0 < value < LOW * rate.peak and before > 10 * LOW * rate.peak:
            rate.peak = value  # no schedule falls so far at once: somebody set another one
        rate.peak = max(rate.peak, value)
        ended = value <= self.ended_ratio * rate.peak
        rate.at_end = rate.at_end + 1 if ended else 0
        if rate.at_end > max(self.end_steps, 0.02 * self._steps):
            yield self._ended(step, worker, name, rate)
        is_low = value < LOW * rate.peak
        rate.since = rate.since + 1 if value == before else 0
        if value != before:
            rate.num_falls = rate.num_falls + 1 if value < before else 0
        yield from self._judge_rest(step, worker, name, rate)
        if value > before:
            # a restart leaves the low end in one jump
            rate.num_rises += 1 if is_low or rate.num_rises else 0
        elif value < before:
            rate.num_rises = 0
        if is_low and not rate.num_rises:
            rate.low = value
        if rate.num_rises > self.end_steps:
            yield self._turned(step, worker, name, rate)

    def _ended(self, step: StepView, worker: str, name: str, rate: _Rate) -> Finding:
        what = "0 from the first step on"
        if rate.peak:
            what = f"less than {number(self.ended_ratio)} of its largest {number(rate.peak)}"
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: {number(rate.last)} at step {step.number}, {what}, for {rate.at_end} TRAIN"
            " steps: nothing is trained with it",
            worker=worker,
            value=rate.last,
            threshold=self.ended_ratio * rate.peak,
            condition=f"{'ended' if rate.peak else 'zero'} {name}",
            remedy="make the schedule as long as the training, or end the training",
        )

    def _turned(self, step: StepView, worker: str, name: str, rate: _Rate) -> Finding:
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: it fell to {number(rate.low)} and rises again, to {number(rate.last)} at step"
            f" {step.number}: the schedule is shorter than the training",
            worker=worker,
            value=rate.last,
            threshold=rate.low,
            condition=f"turned {name}",
            remedy="make the schedule as long as the training, in steps of the optimizer",
        )

    def _judge_jump(self, step: StepView) -> Findings:
        jump = self._jump
        for name, loss in losses_of(step, self._losses).items():
            self._recent.setdefault(name, deque(maxlen=50)).append(loss)
            if jump is not None:
                jump.seen.setdefault(name, []).append(loss)
        if jump is None or all(len(losses) < 10 for losses in jump.seen.values()):
            return
        self._jump = None
        for name, before in jump.losses.items():
            after = float(np.median(jump.seen.get(name, [math.nan])))
            score, median = robust_z(after, before)
            if len(before) < 20 or not (score > 6 and after > 1.2 * abs(median)):
                continue
            yield Finding(
                self.name,
                step.number,
                jump.name,
                f"{jump.name}: it rose from {number(jump.before)} to {number(jump.after)} at step"
                f" {jump.step}, and {name} from {number(median)} to {number(after)}",
                value=jump.after,
                threshold=self.jump_ratio * jump.before,
                condition="jump",
                remedy="check what sets the learning rate at this step; restart from before it",
            )
            return
