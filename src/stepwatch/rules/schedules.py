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
    """

    peak: float = 0.0
    last: float = math.nan
    low: float = 0.0
    num_rises: int = 0
    at_end: int = 0


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
    each step of the optimizer. ``too_often``: it took three or more steps for each, and no other
    worker can be the reason. ``ended``: the learning rate stayed below ``ended_ratio`` of its
    peak for more than ``end_steps`` TRAIN steps and 2% of all; ``zero``: it was never above 0.
    ``turned``: it came to its end and rose again step by step, as a cosine does beyond its
    length; a restart jumps. ``jump``: it rose to more than three times the largest before, and
    the losses jumped with it.

    Args:
        ended_ratio: Below this fraction of its peak a learning rate is as good as zero.
        end_steps: TRAIN steps in a row.
        jump_ratio: So many times the largest learning rate before is a jump. Above 1.
    """

    name = "learning_rate_anomaly"
    needs = ("learning_rates",)
    per_model = True

    def __init__(
        self, ended_ratio: float = 5e-4, end_steps: int = 20, jump_ratio: float = 3.0
    ) -> None:
        above("ended_ratio", ended_ratio, 0, up_to=0.5)
        at_least("end_steps", end_steps, 1)
        above("jump_ratio", jump_ratio, 1)
        self.ended_ratio, self.end_steps, self.jump_ratio = ended_ratio, end_steps, jump_ratio
        self._rates: dict[tuple[str, str], _Rate] = {}
        self._in_a_row = InARow()
        self._losses = Selection(("losses",), keep=is_scalar)
        self._recent: dict[str, deque[float]] = {}
        self._jump: _Jump | None = None
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._steps += 1
        for worker in step.workers:
            yield from self._judge_pace(step, worker)
        for group in step.groups("learning_rates"):
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
        met = near or (alone and pace >= TOO_OFTEN)
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
