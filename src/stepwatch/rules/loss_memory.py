"""The memory of the rules on losses: what a loss has been, in bounded space."""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..record import Layout, TensorInfo
from ..steps import Mode
from .checks import MAD_TO_STD, scalar_value
from .scope import Selection
from .step_view import StepView


def is_scalar(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    """Return whether a tensor has one element."""
    return math.prod(tensor.shape) == 1


# Metrics of XGBoost that rise as training goes well.
_RISING = re.compile(r"-(auc|aucpr|map|ndcg|pre)(@[\d-]+)?$")


def is_loss(layout: Layout, tensor: TensorInfo) -> bool:
    """Return whether a tensor has one element and, if it counts as a loss, ought to fall."""
    rises = tensor.collection == "losses" and _RISING.search(tensor.name)
    return not rises and is_scalar(layout, tensor)


def losses_of(step: StepView, selection: Selection) -> dict[str, float]:
    """Return each selected scalar, the mean over the workers; not finite where one is not."""
    values: dict[str, list[float]] = {}
    for group, names in selection.groups(step):
        for name, row in zip(names, group.record.statistics[group.rows], strict=True):
            values.setdefault(name, []).append(scalar_value(row))
    return {name: sum(parts) / len(parts) for name, parts in values.items()}


class Series:
    """One loss over the steps of its mode, as far back as comparing needs.

    Args:
        num_steps: Steps between the losses that are compared.
        smooth: Medians of so many losses are.
        rise: Where all losses rose by this fraction, that is no noise, and a first such rise is
            judged before it is time.
    """

    def __init__(self, num_steps: int, smooth: int, rise: float) -> None:
        self._num_steps, self._smooth, self._rise = num_steps, smooth, rise
        # one loss a step at most, so this reaches back num_steps and smooth losses further
        self.losses: deque[tuple[int, int, float]] = deque(maxlen=num_steps + smooth)
        self._last_judged: int | None = None
        self._is_above = False
        self.first = math.nan
        self.bad = False
        self.judged = False

    def add(self, at: int, step: int, loss: float) -> tuple[int, float, float] | None:
        """Add a loss; return the earlier step, its loss and this one when it is time to judge."""
        self.losses.append((at, step, loss))
        if self._last_judged is None:
            if len(self.losses) == self._smooth:
                self._last_judged = at
                self.first = self._median(self._smooth)
            return None
        is_time = at >= self._last_judged + self._num_steps
        if self.judged and not is_time:
            return None
        old = sum(1 for other, _, _ in self.losses if other <= at - self._num_steps)
        earlier = old or self._smooth
        self._is_above = self._lies_above(earlier)
        if not (is_time or self._is_above):
            return None
        self._last_judged = at
        self.judged = True
        now = self._median(len(self.losses)) if math.isfinite(loss) else loss
        return self.losses[earlier - 1][1], self._median(earlier), now

    def _lies_above(self, end: int) -> bool:
        """Return whether each of the last losses is above each of those before index ``end``.

        By ``rise``: no noise does that. One loss alone says nothing of noise.
        """
        if self._smooth < 2 or len(self.losses) < end + self._smooth:
            return False
        losses = [loss for _, _, loss in self.losses]
        highest = max(losses[max(0, end - self._smooth) : end])
        return min(losses[-self._smooth :]) > highest + self._rise * abs(highest)

    def noise(self) -> float:
        """Return three standard errors of the difference of two medians.

        0 without smoothing, and where each of the last losses is above each of the earlier ones.

        The standard error of a median of ``n`` normal values is 1.2533 sigma / sqrt(n).
        """
        last = np.array([loss for _, _, loss in self.losses][-self._smooth :])
        if self._smooth < 2 or self._is_above or not np.isfinite(last).all():
            return 0.0
        sigma = MAD_TO_STD * float(np.median(np.abs(last - np.median(last))))
        return 3 * 1.2533 * sigma * math.sqrt(2 / self._smooth)

    def _median(self, end: int) -> float:
        """Return the median of the last finite losses before index ``end``."""
        chosen = [self.losses[index][2] for index in range(max(0, end - self._smooth), end)]
        finite = [loss for loss in chosen if math.isfinite(loss)]
        return float(np.median(finite)) if finite else math.nan


@dataclass(frozen=True, slots=True)
class Spike:
    """A spike whose aftermath is waited for.

    Args:
        step: The global step it was at.
        at: How many losses there were before it.
        median: Of the losses before it.
        loss: Its height.
    """

    step: int
    at: int
    median: float
    loss: float


class Recent:
    """The last losses of one name, and the spike among them.

    Args:
        window: How many are kept.
    """

    def __init__(self, window: int) -> None:
        self.losses: deque[float] = deque(maxlen=window)
        self.count = 0
        self.spike: Spike | None = None

    def add(self, loss: float) -> None:
        """Remember one more loss."""
        self.losses.append(loss)
        self.count += 1

    def largest(self) -> float:
        """Return the largest finite loss; minus infinity when there is none."""
        # one comparison of nan is always false, and infinity must not hide what comes after it
        return max((loss for loss in self.losses if loss < math.inf), default=-math.inf)

    def median(self, most: int) -> float:
        """Return the median of the last ``most`` losses; infinity if one is not finite."""
        last = list(self.losses)[-most:]
        return float(np.median(last)) if np.isfinite(last).all() else math.inf


@dataclass(slots=True)
class Round:
    """A run of TRAIN steps and the run of EVAL steps after it.

    Args:
        first_step: The global step of its first TRAIN step.
        losses: Sum and number of the losses of each mode, by name.
    """

    first_step: int
    losses: dict[Mode, dict[str, tuple[float, int]]] = field(
        default_factory=lambda: {Mode.TRAIN: {}, Mode.EVAL: {}}
    )
    evaluated: bool = False

    def add(self, mode: Mode, losses: dict[str, float]) -> None:
        """Add the losses of one step."""
        sums = self.losses[mode]
        for name, loss in losses.items():
            total, count = sums.get(name, (0.0, 0))
            sums[name] = (total + loss, count + 1)

    def pairs(self) -> list[tuple[str, float, float]]:
        """Return name, mean training loss and mean validation loss of what has both.

        A loss pairs with the one of the same name; in boosting ``validation-rmse`` with
        ``train-rmse``, by the name of the metric; or the only one of each mode with the other.
        """
        train, validation = (
            {name: total / count for name, (total, count) in self.losses[mode].items()}
            for mode in (Mode.TRAIN, Mode.EVAL)
        )
        common = [name for name in train if name in validation]
        if common:
            return [(name, train[name], validation[name]) for name in common]
        metrics = {_metric(name): loss for name, loss in train.items() if _metric(name)}
        boosted = [name for name in validation if _metric(name) in metrics]
        if boosted:
            return [(name, metrics[_metric(name)], validation[name]) for name in boosted]
        if len(train) == len(validation) == 1:
            ((_, only_train),) = train.items()
            ((name, only_validation),) = validation.items()
            return [(name, only_train, only_validation)]
        return []


def _metric(name: str) -> str:
    """Return what stands after the name of the data, such as ``rmse``; empty for no metric."""
    return name.partition("-")[2]


def boosting_round(step: int, losses: dict[str, float]) -> Round | None:
    """Return the round that one step of boosting is: a metric of training and of validation.

    Args:
        step: The global step.
        losses: By name, ``train-rmse`` and ``validation-rmse``.
    """
    ended = Round(step, evaluated=True)
    for name, loss in losses.items():
        data, dash, metric = name.partition("-")
        train = losses.get(f"train-{metric}")
        if dash and data != "train" and train is not None:
            ended.add(Mode.TRAIN, {name: train})
            ended.add(Mode.EVAL, {name: loss})
    return ended if ended.losses[Mode.EVAL] else None


class Rounds:
    """Cuts a run into rounds."""

    def __init__(self) -> None:
        self.current: Round | None = None
        self.last_step = 0
        self._steps = {Mode.TRAIN: 0, Mode.EVAL: 0}

    def add(self, mode: Mode, step: int, losses: dict[str, float]) -> Round | None:
        """Add one step; return the round that it is the first step after.

        EVAL steps before any TRAIN step, such as a sanity check, belong to no round. Where no
        modes are known a step is a round of its own, if it has both losses.
        """
        if mode is Mode.GLOBAL:
            self.last_step = step
            return boosting_round(step, losses)
        if mode not in self._steps:
            return None
        self._steps[mode] += 1
        self.last_step = step
        ended = None
        if mode is Mode.TRAIN and (self.current is None or self.current.evaluated):
            ended, self.current = self.current, Round(step)
        if self.current is not None:
            self.current.evaluated |= mode is Mode.EVAL
            self.current.add(mode, losses)
        return ended

    def missing(self) -> str:
        """Return why no round could be judged."""
        counts = f"{self._steps[Mode.TRAIN]} TRAIN and {self._steps[Mode.EVAL]} EVAL steps"
        return f"no loss was there in TRAIN and in EVAL after it; seen were {counts}"
