"""The rule on scalars that a script logs, held against what was measured."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule, Selection
from ..judge.step_view import StepView, TensorView
from ..model.record import StepRecord
from ..numerics.measures import global_norm, number
from ..numerics.statistics import COUNT, MAX, MIN, SUM
from .shared import is_scalar

_RATE = re.compile(
    r"(.*[/.: ])?(lr|learning[_-]?rate)(-[\w-]+(/pg\d+)?|[-_/]?(pg|(param_)?group_?)?\d+)?",
    re.IGNORECASE,
)
_NORM = re.compile(
    r"(.*[/.: ])?((train|total|global)_)?((grad(ient)?s?_?(l2_)?norm)(_total)?|total_norm)",
    re.IGNORECASE,
)
_LOSS = re.compile(
    r"(.*[/.: ])?((train(ing)?|total|batch|step|epoch|avg|mean|running)_)*loss"
    r"(_(train(ing)?|step|batch|epoch))?|.*loss/train(ing)?",
    re.IGNORECASE,
)
#: In the names of scalars that are not those of a batch that is trained on.
NOT_TRAINING = re.compile(r"val|test|eval|dev|ema|smooth", re.IGNORECASE)

#: Two numbers are the same within this, as a fraction: what is logged may be rounded.
SAME = 1e-3
#: Sums over an epoch and means over it are the same within this: its last batch may be smaller.
NEAR = 0.03
#: The largest of what is compared must be so many times the smallest; else any factor fits.
VARIED, RATE_VARIED = 1.05, 1.5
#: So many logs in a row that lie a window of steps apart, and of how many steps at least.
WINDOWS, WINDOW = 5, 5
#: A sum that is not set back in so many logs, or by an evaluation, never is.
NEVER = 200
#: So many full steps at which gradients were there while the norm that is logged is 0.
SEEN = 5

REMEDIES = {
    "divided": "log the loss before it is divided by the number of micro-batches, or add up those"
    " of all of them",
    "summed": "divide the sum of the losses by how many were added up",
    "count": "divide a sum of the means of batches by the number of batches, and a sum over samples"
    " by the number of samples",
    "running": "set the sum back to 0 once it is logged, or divide it by how many losses it holds",
    "constant": "log optimizer.param_groups[0]['lr'] at each step",
    "not_used": "make the schedule from the optimizer that steps, after it was made",
    "zero": "take the norm after backward() and before zero_grad()",
    "after_clipping": "log what clip_grad_norm_() returns: the norm before clipping",
    "scaled": "call scaler.unscale_(optimizer) before the norm is taken",
}


class _StepLoss(NamedTuple):
    """The loss of one TRAIN step, of all its micro-batches.

    Args:
        mean, least, largest: Of them.
        computed: Whether a loss function computed it. What ``backward`` was called on may have
            been divided by the number of micro-batches before.
    """

    mean: float
    least: float
    largest: float
    computed: bool

    def holds(self, value: float) -> bool:
        """Return whether a value is one of its losses, or a mean of them."""
        room = SAME * abs(value)
        return self.least - room <= value <= self.largest + room


class _Window(NamedTuple):
    """The sum and the number of the losses of all TRAIN steps from ``begin`` up to one."""

    begin: int = 0
    total: float = 0.0
    num_steps: int = 0


class _Scale(NamedTuple):
    """By what factor a logged loss may be off, and why."""

    factor: float
    condition: str
    why: str


@dataclass(slots=True)
class _Worker:
    """What was measured of one worker at the last TRAIN step, and at the one before."""

    step: int = -1
    losses: list[_StepLoss | None] = field(default_factory=lambda: [None, None])
    windows: list[_Window] = field(default_factory=lambda: [_Window()] * 2)
    norms: list[Mapping[str, float]] = field(default_factory=lambda: [{}, {}])
    rates: list[list[float]] = field(default_factory=lambda: [[], []])
    micro_batches: float = math.nan
    batch_size: float = 0.0
    #: EVAL steps so far.
    evaluations: int = 0

    def scales(self) -> Iterator[_Scale]:
        """Yield the factors that are known by how a step is made up."""
        parts, size = self.micro_batches, self.batch_size
        last = self.losses[0]
        if parts >= 2 and last is not None and last.computed:
            each = f"{number(parts)} micro-batches"
            yield _Scale(1 / parts, "divided", f"it was divided by the {each} of a step")
            yield _Scale(parts, "summed", f"those of the {each} of a step are added up")
        if size >= 2 and size != parts:
            yield _Scale(size, "count", f"it was multiplied by the {number(size)} of a batch")
            yield _Scale(1 / size, "count", f"it was divided by the {number(size)} of a batch")


class _Found(NamedTuple):
    """What is wrong with what was logged."""

    condition: str
    text: str
    value: float
    threshold: float
    severity: str = "warning"


class _LossLog:
    """The logged values of one loss.

    Args:
        needed: So many in a row must be wrong in the same way.
    """

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self._before: tuple[float, list[_Window]] | None = None
        # By how many steps later it was logged, and the factor: what was measured, in a row.
        self._scaled: dict[tuple[int, float], list[float]] = {}
        self._of_windows: dict[tuple[int, float], int] = {}
        # The factor, the sums that were added, and the evaluations before the first.
        self._running: list[tuple[float, list[float], int]] = [(math.nan, [], 0)] * 2

    def add(self, value: float, worker: _Worker) -> Iterator[_Found]:
        """Add one log of a TRAIN step; yield what is wrong."""
        before, self._before = self._before, (value, worker.windows)
        yield from self._evaluate_scale(value, worker)
        earlier = [_Window()] * 2 if before is None else before[1]
        spans = [
            (
                now.total - then.total,
                now.num_steps - then.num_steps if now.begin == then.begin else 0,
            )
            for now, then in zip(worker.windows, earlier, strict=True)
        ]
        yield from self._evaluate_windows(value, worker, spans)
        if before is not None:
            yield from self._evaluate_running(value - before[0], value, worker, spans)

    def _evaluate_scale(self, value: float, worker: _Worker) -> Iterator[_Found]:
        known = [one for one in worker.losses if one is not None]
        if len(known) < 2 or any(one.holds(value) for one in known):
            self._scaled.clear()
            return
        for scale in worker.scales():
            for late, loss in enumerate(known):
                key = late, scale.factor
                if not loss.holds(value / scale.factor):
                    self._scaled.pop(key, None)
                    continue
                measured = self._scaled.setdefault(key, [])
                measured.append(loss.mean)
                if len(measured) >= self._needed and _varies(measured, VARIED):
                    yield _Found(
                        scale.condition,
                        f"is {number(value)} where the loss is {number(loss.mean)}:"
                        f" {scale.why}, at {len(measured)} logs in a row",
                        value,
                        loss.mean,
                    )
                    return

    def _evaluate_windows(
        self, value: float, worker: _Worker, spans: list[tuple[float, int]]
    ) -> Iterator[_Found]:
        for scale in worker.scales():
            for late, (total, count) in enumerate(spans):
                key = late, scale.factor
                mean = total / count if count >= WINDOW else math.nan
                ratio = value / (mean * scale.factor) if mean else math.nan
                # The last batch is smaller, and samples are counted.
                most = (1 + NEAR) * count / max(count - 1, 1) if scale.factor < 1 else 1 + NEAR
                holds = 1 - NEAR <= ratio <= most
                streak = self._of_windows[key] = self._of_windows.get(key, 0) + 1 if holds else 0
                if streak >= WINDOWS:
                    yield _Found(
                        scale.condition,
                        f"is {number(value)} where the mean loss of {count} steps is"
                        f" {number(mean)}: {scale.why}, at {streak} logs in a row",
                        value,
                        mean,
                    )
                    return

    def _evaluate_running(
        self, rise: float, value: float, worker: _Worker, spans: list[tuple[float, int]]
    ) -> Iterator[_Found]:
        for late, (total, count) in enumerate(spans):
            factor, means, evaluations = self._running[late]
            ratio = rise / total if count > 0 and total > 0 else math.nan
            if not (ratio > 0 and abs(ratio - factor) <= SAME * factor):
                factor, means, evaluations = ratio, [], worker.evaluations
            means = [*means, total / count][-NEVER:] if ratio > 0 else []
            self._running[late] = factor, means, evaluations
            is_kept = worker.evaluations > evaluations or len(means) >= NEVER
            if len(means) >= self._needed and is_kept and _varies(means, VARIED):
                yield _Found(
                    "running",
                    f"is {number(value)} and grows by the losses of all steps, which are"
                    f" {number(total / count)} on average: it is never set back to 0",
                    value,
                    total / count,
                )
                return


class _RateLog:
    """The logged values of one learning rate; see ``_LossLog``."""

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self._has_matched = False
        self._waiting: tuple[float, list[float], float] | None = None
        self._wrong: deque[tuple[float, float]] = deque(maxlen=max(needed, NEVER))

    def add(self, value: float, worker: _Worker) -> None:
        """Add one log; it is judged once the rates of the next step are known."""
        used = worker.rates[0]
        if used:
            self._waiting = value, [*used, *worker.rates[1]], used[0]

    def settle(self, worker: _Worker) -> Iterator[_Found]:
        """Judge the last log, at the TRAIN step after it."""
        if self._waiting is None:
            return
        (value, rates, used), self._waiting = self._waiting, None
        if any(abs(value - rate) <= SAME * abs(rate) for rate in (*rates, *worker.rates[0])):
            self._has_matched = True
            self._wrong.clear()
            return
        self._wrong.append((value, used))
        if len(self._wrong) < self._needed:
            return
        logged, in_use = zip(*self._wrong, strict=True)
        text = f"is {number(value)} where the learning rate is {number(used)}"
        if not _varies(logged, 1 + SAME) and _varies(in_use, RATE_VARIED):
            yield _Found(
                "constant",
                f"{text}: what is logged stays, and what is used went from {number(in_use[0])} to"
                f" {number(in_use[-1])} in {len(logged)} logs",
                value,
                used,
            )
        elif self._has_matched and _varies(logged, RATE_VARIED) and not _varies(in_use, 1 + SAME):
            yield _Found(
                "not_used",
                f"{text}: what is logged went from {number(logged[0])} to {number(logged[-1])} in"
                f" {len(logged)} logs, and what the optimizer uses stays",
                value,
                used,
            )


class _NormLog:
    """The logged values of one norm of gradients; see ``_LossLog``."""

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self._num_zero = self._num_seen = 0
        self._streaks: dict[tuple[str, int], int] = {}

    def add(self, value: float, worker: _Worker) -> Iterator[_Found]:
        """Add one log of a TRAIN step; yield what is wrong."""
        known = [one for one in worker.norms if one]
        if value != 0:
            self._num_zero = self._num_seen = 0
        else:
            self._num_zero += 1
            self._num_seen += any(one["used"] > 0 for one in known)
            if self._num_zero >= self._needed and self._num_seen >= SEEN:
                used = max(one["used"] for one in known) if known else math.nan
                text = f"is 0 at {self._num_zero} logs in a row, and the optimizer had gradients"
                yield _Found("zero", f"{text} of norm {number(used)}", 0.0, used)
            return
        for late, measured in enumerate(worker.norms):
            if measured:
                yield from self._evaluate(value, late, measured)

    def _evaluate(self, value: float, late: int, norms: Mapping[str, float]) -> Iterator[_Found]:
        before, after, used = norms["before"], norms["after"], norms["used"]
        if before > (1 + NEAR) * after:
            streak = self._count("after_clipping", late, _is(value, after))
            if _is(value, before):
                self._streaks.clear()
            elif streak >= self._needed // 2:
                yield _Found(
                    "after_clipping",
                    f"is {number(value)}, as clipping leaves it, where the gradients had a norm of"
                    f" {number(before)}: it never exceeds the limit",
                    value,
                    before,
                    "info",
                )
        scale = norms["scale"]
        if scale >= 2 and used > 0:
            scaled = _is(value, used * scale) and not _is(value, before)
            if self._count("scaled", late, scaled) >= self._needed // 2:
                yield _Found(
                    "scaled",
                    f"is {number(value)} where the norm is {number(used)}: the gradients were still"
                    f" multiplied by the loss scale {number(scale)}",
                    value,
                    used,
                )

    def _count(self, condition: str, late: int, holds: bool) -> int:
        key = condition, late
        self._streaks[key] = self._streaks.get(key, 0) + 1 if holds else 0
        return self._streaks[key]


class LoggedMetric(Rule):
    """A learning rate, a gradient norm or a training loss that is logged, and is another.

    It judges scalars by their names: what the script logs by TensorBoard, Weights & Biases,
    Trackio or MLflow, what a trainer logs, and what is saved by ``save_scalar``. Each is compared
    with what was measured at the same step, or the one before, and only what is wrong in the same
    way ``consecutive`` times in a row is found. ``divided``, ``summed``, ``count``: the loss is
    multiplied or divided by the number of micro-batches, or of samples of a batch. ``running``: it
    adds up the losses of all steps. ``constant``: a learning rate that stays while the one in use
    varies; ``not_used``: the reverse. ``zero``: the norm is 0 while the optimizer has gradients.
    ``scaled``: it is that of gradients before they were unscaled; ``after_clipping``: that of
    clipped ones.

    Averages and smoothed values match none of these, and nothing is said of them; nor of
    micro-batches, where no loss function is known and the loss is what ``backward`` was called on:
    that may have been divided by their number.
    """

    name = "logged_metric"
    needs = ("metrics", "scalars", "losses", "learning_rates")
    per_model = True
    lacks = NotApplicable("no learning rate, gradient norm or training loss was logged")

    consecutive: int = parameter(20, "Logs in a row.", at_least=2)

    def begin(self) -> None:
        self._workers: dict[str, _Worker] = {}
        self._logs: dict[tuple[str, str], _LossLog | _RateLog | _NormLog] = {}
        self._kinds: dict[str, type | None] = {}
        self._losses = Selection(("losses",), keep=is_scalar)

    def check(self, step: StepView) -> Findings:
        losses = self._losses_of(step)
        for record in step.records:
            name = record.worker
            worker = self._workers.get(name)
            if worker is None:
                worker = self._workers[name] = _Worker()
            if not step.trains:
                worker.evaluations += 1
                continue
            _measure(step, record, worker, losses.get(name))
            for key, log in self._logs.items():
                if key[0] == name and isinstance(log, _RateLog):
                    yield from self._findings(step, key, log.settle(worker))
            for tensor in step.tensors("metrics", "scalars", worker=name):
                yield from self._evaluate(step, tensor, worker)

    def _losses_of(self, step: StepView) -> dict[str, _StepLoss]:
        """Return the only loss of each worker; of those that have several, or none, nothing."""
        found = {}
        for group, names in self._losses.groups(step):
            row = names.index(_OF_TRAINER) if _OF_TRAINER in names else 0
            if len(names) == 1 or names[row] == _OF_TRAINER:
                fields = group.record.statistics[group.rows[row]].tolist()
                count, total = fields[COUNT], fields[SUM]
                if count and math.isfinite(total):
                    is_computed = names[row] != _OF_BACKWARD
                    loss = _StepLoss(total / count, fields[MIN], fields[MAX], is_computed)
                    found[group.record.worker] = loss
        return found

    def _evaluate(self, step: StepView, tensor: TensorView, worker: _Worker) -> Findings:
        key = tensor.worker, tensor.name
        log, value = self._logs.get(key), tensor.scalar
        if log is None:
            if tensor.name not in self._kinds:
                self._kinds[tensor.name] = kind_of(tensor.name.partition("/")[2])
            kind = self._kinds[tensor.name]
            if kind is None:
                return
            log = self._logs[key] = kind(self.consecutive)
        if not math.isfinite(value):
            return
        self._evaluated = True
        if isinstance(log, _RateLog):
            log.add(value, worker)
        else:
            yield from self._findings(step, key, log.add(value, worker))

    def _findings(self, step: StepView, key: tuple[str, str], found: Iterator[_Found]) -> Findings:
        worker, name = key
        for one in found:
            yield self.finding(
                step,
                name,
                f"{name} {one.text}, up to step {step.train_step}",
                worker=worker,
                value=one.value,
                threshold=one.threshold,
                severity=one.severity,
                condition=f"{one.condition} {name}",
                remedy=REMEDIES[one.condition],
                evidence={"cause": one.condition},
            )


def kind_of(metric: str) -> type[_LossLog] | type[_RateLog] | type[_NormLog] | None:
    """Return what a metric is by its name; ``None`` for none that is compared.

    Example:
        >>> kind_of("train/lr").__name__, kind_of("grad_norm").__name__, kind_of("val/loss")
        ('_RateLog', '_NormLog', None)
    """
    if NOT_TRAINING.search(metric):
        return None
    kinds = ((_RATE, _RateLog), (_NORM, _NormLog), (_LOSS, _LossLog))
    return next((kind for pattern, kind in kinds if pattern.fullmatch(metric)), None)


def _measure(step: StepView, record: StepRecord, worker: _Worker, loss: _StepLoss | None) -> None:
    """Take in what was measured at a TRAIN step."""
    name = record.worker
    is_next = step.mode_step == worker.step + 1
    worker.step = step.mode_step
    last = worker.windows[0]
    if loss is None:
        worker.windows = [_Window(step.mode_step + 1)] * 2
    else:
        if not is_next:  # sums over steps that are not all known say nothing
            last = _Window(step.mode_step)
        worker.windows = [_Window(last.begin, last.total + loss.mean, last.num_steps + 1), last]
    worker.losses = [loss, worker.losses[0] if is_next else None]
    worker.norms = [_norms_of(step, name), worker.norms[0] if is_next else {}]
    rates = [one.scalar for one in step.tensors("learning_rates", worker=name)]
    worker.rates = [rates, worker.rates[0] if is_next else []]
    if _MADE_OF.isdisjoint(record.layout.rows_of):
        return  # as between full steps
    parts = step.scalar("loop/backwards", name)
    worker.micro_batches = worker.micro_batches if math.isnan(parts) else parts
    sizes = [one.info.shape[0] for one in step.tensors("batches", worker=name) if one.info.shape]
    worker.batch_size = max([*sizes[:1], worker.batch_size])


_MADE_OF = frozenset({"loop", "batches"})
_OF_TRAINER, _OF_BACKWARD = "loss/Trainer", "loss/backward"


def _norms_of(step: StepView, worker: str) -> Mapping[str, float]:
    """Return norms of the gradients that were used, and before and after clipping; or nothing."""
    for group in step.groups("gradients", worker=worker):
        before, after, scale = step.scalars(_CLIPPING, worker)
        used = global_norm(group.record.statistics[group.rows])
        return {"used": used, "before": before, "after": after, "scale": scale}
    return {}


_CLIPPING = (
    "optimizer/gradient_norm_before_clipping",
    "optimizer/gradient_norm_after_clipping",
    "optimizer/loss_scale",
)


def _is(value: float, other: float) -> bool:
    """Return whether two numbers are the same but for rounding, or a little more."""
    return abs(value - other) <= 10 * SAME * abs(other)


def _varies(values: object, ratio: float) -> bool:
    """Return whether the largest magnitude of some numbers is so many times the smallest."""
    sizes = np.abs(np.asarray(values, np.float64))
    return bool(sizes.max() > ratio * sizes.min())
