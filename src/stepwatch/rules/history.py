"""Memories in bounded space: losses, rounds, norms, first values, onsets of conditions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from statistics import median as median_of
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..model.record import Layout, StepRecord
from ..model.steps import Mode
from ..numerics.measures import MAD_TO_STD, Floats, theil_sen
from ..numerics.statistics import SUM

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Rows = npt.NDArray[np.intp]


#: Where medians are known no better than by this fraction, a plateau may be a fall, until so many
#: judgements have found no other.
NOISY, LOOKS = 0.05, 3
#: So many robust standard deviations above the median are no noise.
FAR = 4.0
#: A loss that rises after it had fallen may turn below so many times what it began at.
TURNS = 2.0
#: What was learned is lost where a loss is so many times its best, and began at so many times that;
#: and is at least such a part of what it began at, so that little of its fall is left.
LOST, LEAST_LOST = 2.0, 0.1
#: A loss that does not fall, and nothing tells why, is waited for over so many more steps, or to
#: the end: some fall after a long time. It has if it is at most such a part of what it was.
WAIT, FELL = 400, 0.9
#: Of so many losses two fifths can be compared, where there will be no more.
LEAST_SHORT = 60


class LossHistory:
    """One loss over the steps of its mode, as far back as comparing needs.

    Args:
        num_steps: Steps between the losses that are compared.
        smooth: Medians of so many losses are.
        rise: Where all losses rose by this fraction, that is no noise, and a first such rise is
            judged before it is time.
    """

    def __init__(self, num_steps: int, smooth: int, rise: float) -> None:
        self._num_steps, self.smooth, self._rise = num_steps, smooth, rise
        # one loss a step at most, so this reaches back num_steps and smooth losses further
        self.losses: deque[tuple[int, StepNumber, float]] = deque(maxlen=num_steps + smooth)
        self._last_evaluated: int | None = None
        self._is_above = False
        self.first = self._highest = math.nan  # what it began at, and the first few if higher
        self._lowest = math.inf  # of what was compared
        #: What the loss cannot be below, as far as it is known.
        self.floor: float | None = None
        #: The least median, and the step at which it was.
        self.best: tuple[StepNumber, float] | None = None
        self._num_added = 0
        self.bad = self.is_lost = False
        #: That it does not fall, while that is waited for.
        self.waiting: Finding | None = None
        self.risen: tuple[StepNumber, float, float] | None = None  # a rise that may turn
        self.judged = self.is_short = False
        self._doubted: float | None = None
        self._looks = 0

    def add(self, at: int, step: StepNumber, loss: float) -> tuple[StepNumber, float, float] | None:
        """Add a loss; return the earlier step, its loss and this one when it is time to judge."""
        self.losses.append((at, step, loss))
        self._num_added += 1
        if self._num_added >= self.smooth > 1 and not self._num_added % (self.smooth // 4 or 1):
            median = self.last
            if self.best is None or median < self.best[1]:
                self.best = step, median
        if self._last_evaluated is None:
            if len(self.losses) == self.smooth:
                self._last_evaluated = at
                self.first = self._beginning()
                self._highest = max(self.first, self._median(self.smooth // 8 or 1))
            return None
        is_time = at >= self._last_evaluated + self._num_steps
        if self.judged and not is_time:
            return None
        old = bisect_right(self.losses, at - self._num_steps, key=itemgetter(0))
        earlier = old or self.smooth
        self._is_above = self._lies_above(earlier)
        if not (is_time or self._is_above):
            return None
        self._last_evaluated = at
        self.judged = True
        return self.compared(earlier)

    def ended(self) -> tuple[StepNumber, float, float] | None:
        """Return what ``add`` does where it is time, of what came since: no more is to come."""
        at = self.losses[-1][0]
        if not self.judged or self._last_evaluated == at:
            return None
        return self.compared(bisect_right(self.losses, at - self._num_steps, key=itemgetter(0)))

    def compared(self, end: int) -> tuple[StepNumber, float, float]:
        """Return the step of the last loss before index ``end``, the loss there, and this one."""
        loss = self.losses[-1][2]
        now = self.last if math.isfinite(loss) else loss
        then = self._median(end)
        self._lowest = min(self._lowest, then, self.last)
        return self.losses[end - 1][1], then, now

    def lost(self, at: StepNumber, now: float) -> tuple[StepNumber, float] | None:
        """Return when a loss was best, and what, if it is ``LOST`` times that: else ``None``.

        It has been so for the steps between judgements, and began at so many times that, too.
        """
        if self.best is None or not 0 < LOST * self.best[1] <= min(now, self.first):
            return None
        if now < LEAST_LOST * self.first:
            return None
        return self.best if at.train_step - self.best[0].train_step >= self._num_steps else None

    def shortened(self) -> LossHistory | None:
        """Return the losses but the first fifth, to compare the second fifth with the last.

        ``None`` where they were compared, are not smoothed, or are too few.
        """
        fifth = min(self.smooth, len(self.losses) // 5)
        if self.judged or self.smooth < 2 or len(self.losses) < LEAST_SHORT:
            return None
        losses = list(self.losses)[fifth:]
        short = LossHistory(losses[-1][0] - losses[fifth - 1][0], fifth, self._rise)
        short.losses.extend(losses)
        short.first, short.floor, short.is_short = self.first, self.floor, True
        return short

    def _beginning(self) -> float:
        """Return what the loss began at: the median, or the first few where they lie well above.

        Some losses have most of their fall behind them after some steps.
        """
        median, few = self._median(self.smooth), self.smooth // 8
        if not few:
            return median
        scatter = float(np.median([abs(loss - median) for _, _, loss in self.losses]))
        start = self._median(few)
        return start if start - median > FAR * MAD_TO_STD * scatter else median

    def _lies_above(self, end: int) -> bool:
        """Return whether each of the last losses is above each of those before index ``end``.

        By ``rise``: no noise does that. Noise cannot be estimated from one loss.
        """
        if self.smooth < 2 or len(self.losses) < end + self.smooth:
            return False
        losses = [loss for _, _, loss in self.losses]
        highest = max(losses[max(0, end - self.smooth) : end])
        return min(losses[-self.smooth :]) > highest + self._rise * abs(highest)

    @property
    def last(self) -> float:
        """The median of the last losses, as far as they are smoothed; nan for none."""
        return self._median(len(self.losses))

    def noise(self) -> float:
        """Return three standard errors of the difference of two medians.

        0 without smoothing, and where each of the last losses is above each of the earlier ones.

        The standard error of a median of ``n`` normal values is 1.2533 sigma / sqrt(n).
        """
        last = np.array([loss for _, _, loss in self.losses][-self.smooth :])
        if self.smooth < 2 or self._is_above or not np.isfinite(last).all():
            return 0.0
        sigma = MAD_TO_STD * float(np.median(np.abs(last - np.median(last))))
        return 3 * 1.2533 * sigma * math.sqrt(2 / self.smooth)

    def settled(self, verdict: str, now: float) -> str:
        """Return a verdict, ``""`` for a plateau as long as that may be a fall.

        Where medians are known no better than by ``NOISY`` of the loss, it is a plateau if the loss
        is still within that at ``LOOKS`` judgements.
        """
        noise = self.noise()
        if self.bad or verdict == "not finite":
            return verdict
        if self._doubted is None and verdict == "plateau" and noise > NOISY * abs(now):
            self._doubted, self._looks = now, 0
        if self._doubted is None:
            return verdict
        self._looks += 1
        if abs(now - self._doubted) > noise:
            self._doubted = None
            return verdict if verdict != "plateau" else ""
        return "plateau" if self._looks >= LOOKS else ""

    def waited(
        self, verdict: str, pair: tuple[StepNumber, float, float], ratio: float
    ) -> tuple[str, StepNumber, float]:
        """Return a verdict and with what the loss is compared; ``""`` for a rise that may turn.

        A rise may if the loss had fallen and is not far above what it began at. It is one if it
        did not turn by the next judgement.

        Args:
            verdict: What was found.
            pair: The earlier step, its loss and the loss now.
            ratio: A loss has fallen that is at most this fraction of what it began at.
        """
        risen, self.risen = self.risen, None
        if risen is not None and verdict != "not finite":
            return ("", *pair[:2]) if self.turned(risen, ratio) else ("rose", *risen[:2])
        may_turn = self._lowest <= ratio * self.first and self.last < TURNS * self._highest
        if verdict == "rose" and may_turn and not self.bad:
            self.risen, verdict = pair, ""
        return verdict, *pair[:2]

    def turned(self, risen: tuple[StepNumber, float, float], ratio: float) -> bool:
        """Return whether the loss fell again after a rise, from what it was at the end of it."""
        return self.last < risen[2] * (1 - self._rise) or self.last <= ratio * self.first

    @property
    def recent(self) -> list[float]:
        """The last 25 losses."""
        return [loss for _, _, loss in self.losses][-25:]

    def _median(self, end: int) -> float:
        """Return the median of the last finite losses before index ``end``."""
        chosen = [self.losses[index][2] for index in range(max(0, end - self.smooth), end)]
        finite = [loss for loss in chosen if math.isfinite(loss)]
        return float(median_of(finite)) if finite else math.nan  # of a few faster than numpy's


@dataclass(frozen=True, slots=True)
class LossJump:
    """A spike whose aftermath is waited for.

    Args:
        step: The step it was at.
        at: How many losses there were before it.
        median: Of the losses before it.
        loss: Its height.
    """

    step: StepNumber
    at: int
    median: float
    loss: float


class RecentLosses:
    """The last losses of one name, and the spike among them.

    Args:
        window: How many are kept.
    """

    def __init__(self, window: int) -> None:
        self.losses: deque[float] = deque(maxlen=window)
        # Those that no later one exceeds, and how many losses there were before each.
        self._maxima: deque[tuple[int, float]] = deque()
        self._window = window
        self.count = 0
        self.spike: LossJump | None = None

    def add(self, loss: float) -> None:
        """Remember one more loss."""
        self.losses.append(loss)
        maxima = self._maxima
        # one comparison of nan is always false, and infinity must not hide what comes after it
        if loss < math.inf:
            while maxima and maxima[-1][1] < loss:
                maxima.pop()
            maxima.append((self.count, loss))
        self.count += 1
        if maxima and maxima[0][0] < self.count - self._window:
            maxima.popleft()

    def largest(self) -> float:
        """Return the largest finite loss; minus infinity when there is none."""
        return self._maxima[0][1] if self._maxima else -math.inf

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

    def add(self, mode: Mode, losses: Mapping[str, float]) -> None:
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


def boosting_round(step: int, losses: Mapping[str, float]) -> Round | None:
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
        self._steps = {Mode.TRAIN: 0, Mode.EVAL: 0}

    def add(self, mode: Mode, step: int, losses: Mapping[str, float]) -> Round | None:
        """Add one step; return the round that it is the first step after.

        EVAL steps before any TRAIN step, such as a sanity check, belong to no round. Where no
        modes are known a step is a round of its own, if it has both losses.
        """
        if mode is Mode.GLOBAL:
            return boosting_round(step, losses)
        if mode not in self._steps:
            return None
        self._steps[mode] += 1
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
        return f"no loss of one name in TRAIN and in EVAL after it, in {counts}"


#: So many rounds tell that a mean square comes to nothing; the last of them are so many.
_LEAST_ROUNDS, _LAST_ROUNDS = 5, 3
#: Of fewer targets the variance is not known well enough.
_LEAST_TARGETS = 1000
#: In training at most such a part of the variance of the targets is explained, and in evaluation
#: it never was more than such a part; less than the second is chance.
_HARDLY, _CHANCE = 0.1, 0.05


class MeanGuess:
    """Mean squares of rounds, beside what it costs to guess the mean of the training targets."""

    def __init__(self) -> None:
        #: Number, sum and sum of squares of the targets, of TRAIN and EVAL steps.
        self._moments = {mode: np.zeros(3) for mode in (Mode.TRAIN, Mode.EVAL)}
        self._rounds: list[tuple[float, float]] = []

    def add_targets(self, mode: Mode, moments: Floats) -> None:
        """Add number, sum and sum of squares of the targets of a step."""
        self._moments[mode] += moments

    def add_round(self, train: float, validation: float) -> None:
        self._rounds.append((train, validation))

    @property
    def num_rounds(self) -> int:
        return len(self._rounds)

    def shares(self) -> tuple[float, float] | None:
        """Return the losses at the end in TRAIN and EVAL, each as a share of that of guessing.

        ``None`` where training learnt something of the targets, nothing at all, or what holds in an
        evaluation, too; and where that is not known.
        """
        (number_of, total, _), (in_eval, _, _) = self._moments.values()
        if len(self._rounds) < _LEAST_ROUNDS or number_of < _LEAST_TARGETS or not in_eval:
            return None
        mean = total / number_of
        costs = [_cost(moments, mean) for moments in self._moments.values()]
        if not min(costs) > 0:
            return None
        found = np.array(self._rounds) / costs
        train, validation = np.median(found[-_LAST_ROUNDS:], axis=0).tolist()
        hardly = 1 - _HARDLY <= train < 1
        by_chance = found[:, 1].min() >= 1 - _CHANCE and validation > 1
        return (train, validation) if hardly and by_chance else None


def _cost(moments: Floats, guess: float) -> float:
    """Return the mean square of targets from a guess."""
    number_of, total, squares = (moments / moments[0]).tolist()
    return float(squares - 2 * guess * total + guess**2 * number_of)


class RoundLosses:
    """The losses of one name in one mode, a round each: the best, and how much they scatter."""

    # So many standard deviations are no scatter; so many rounds tell it.
    _K, _KEPT = 2.0, 100

    def __init__(self) -> None:
        self._losses: deque[float] = deque(maxlen=self._KEPT)
        self._highest = -math.inf
        self.best = math.inf

    def add(self, loss: float, *, bad: bool = False) -> None:
        """Add the loss of a round; one that is not finite is left out.

        Args:
            bad: It is one of several in a row that lie too high.
        """
        if math.isfinite(loss):
            self._losses.append(loss)
            self.best = min(self.best, loss)
            self._highest = max(self._highest, loss) if bad else -math.inf

    def rise(self) -> float:
        """Return how far the last loss lies above the best."""
        return self._losses[-1] - self.best if self._losses else 0.0

    def stays_up(self) -> bool:
        """Return whether the last loss lies above the best by more than the rounds scatter.

        Nor has it come down by as much from the highest of the bad rounds in a row.
        """
        room = self._K * self._noise()
        return self.rise() > room and self._losses[-1] >= self._highest - room

    def _noise(self) -> float:
        """Return the standard deviation of a round about the trend; 0 with fewer than 4 rounds.

        That of a difference of two normal values is sqrt(2) sigma.
        """
        steps = np.diff(self._losses)
        if len(steps) < 3:
            return 0.0
        scatter = float(np.median(np.abs(steps - np.median(steps))))
        return MAD_TO_STD * scatter / math.sqrt(2)


class Series(dict[K, deque[T]]):
    """The last values of each of some numbers.

    Args:
        length: So many of each are kept.
    """

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length

    def add(self, key: K, value: T) -> deque[T]:
        """Add a value; return the last ones with it."""
        if key not in self:
            self[key] = deque(maxlen=self._length)
        self[key].append(value)
        return self[key]


class Fifths:
    """A number over a whole training, as the medians of five parts of it.

    Args:
        most: So many values are kept; of more, every second one, and so on.
    """

    def __init__(self, most: int = 500) -> None:
        self._most, self._every, self._values = most, 1, list[float]()
        #: How many there were.
        self.count = 0

    def add(self, value: float) -> None:
        """Add a value; one that is not finite is left out."""
        if math.isfinite(value):
            if self.count % self._every == 0:
                self._values.append(value)
            self.count += 1
        if len(self._values) > self._most:
            self._values = self._values[::2]
            self._every *= 2

    def medians(self) -> list[float]:
        """Return five medians, in order; of fewer than five values none."""
        if len(self._values) < 5:
            return []
        return [float(median_of(part.tolist())) for part in np.array_split(self._values, 5)]


class FirstValues:
    """What each of some numbers was at first: the median of its first finite values.

    Args:
        num_values: So many values give it.
        summary: What is taken of them in the place of the median.
    """

    def __init__(self, num_values: int, summary: Callable[[list[float]], Any] = np.median) -> None:
        self._num_values, self._summary = num_values, summary
        self._values: dict[Hashable, list[float]] = {}
        self._known: dict[Hashable, float] = {}

    def of(self, key: Hashable, value: float) -> float:
        """Return it of the first values; nan as long as there are too few of them."""
        known = self._known.get(key)
        if known is not None:
            return known
        values = self._values.setdefault(key, [])
        if math.isfinite(value):
            values.append(value)
        if len(values) >= self._num_values:
            self._known[key] = float(self._summary(self._values.pop(key)))
        return math.nan


class Running:
    """Exponentially weighted mean and variance, to which outliers count only up to a limit.

    Args:
        alpha: How much of mean and variance each value keeps.
        z: A value counts towards them up to so many standard deviations above the mean.
        warmup: So many values give the first mean and variance.
        floor: Least standard deviation, as a fraction of the mean's magnitude: a value that
            hardly moves must not make a spike of its rounding.
    """

    def __init__(self, alpha: float, z: float, warmup: int, *, floor: float) -> None:
        self._alpha, self._z, self._warmup, self._floor = alpha, z, warmup, floor
        self._first: list[float] = []
        self.mean = self._variance = 0.0

    def score(self, value: float) -> float:
        """Return how many standard deviations a value is above the mean, then take it in."""
        if len(self._first) < self._warmup:
            self._first.append(value)
            if len(self._first) == self._warmup:
                self.mean = float(np.mean(self._first))
                self._variance = float(np.var(self._first))
            return 0.0
        std = max(math.sqrt(self._variance), self._floor * abs(self.mean), 1e-300)
        distance = value - self.mean
        kept = min(distance, self._z * std)  # so that a spike does not widen what counts as one
        self.mean += (1 - self._alpha) * kept
        self._variance += (1 - self._alpha) * (kept**2 - self._variance)
        return distance / std


class Norms:
    """How unusual each norm is, the share that was clipped, and a thinned history.

    Args:
        alpha: As for ``Running``, as are ``z`` and ``warmup``.
        clip_window: Length of the window for the clipped share.
    """

    # twice this is kept; the last tenth of it is still ~200 points
    _HISTORY = 2048

    def __init__(self, alpha: float, z: float, warmup: int, *, clip_window: int) -> None:
        self._running = Running(alpha, z, warmup, floor=1e-3)
        self._logarithms = Running(alpha, z, warmup, floor=0.0)
        self._clipped: deque[bool] = deque(maxlen=clip_window)
        self._num_clipped = 0
        self._history: list[tuple[int, float]] = []
        self._stride = 1
        self.count = 0
        self.last_step = StepNumber(0, 0)

    def add(self, step: StepNumber, norm: float) -> tuple[float, float]:
        """Return the mean before this norm, and its score.

        The score is how many standard deviations it is above the mean, on a linear or on a
        logarithmic scale, whichever is less: norms near zero differ by orders of magnitude.
        """
        self._remember(step, norm)
        mean = self._running.mean
        score = self._running.score(norm)
        return mean, min(score, self._logarithms.score(math.log(max(norm, 1e-300))))

    def clipped_share(self, clipped: bool) -> float:
        """Return the share of clipped steps in the window; 0 until it is full."""
        if len(self._clipped) == self._clipped.maxlen:
            self._num_clipped -= self._clipped[0]
        self._clipped.append(clipped)
        self._num_clipped += clipped
        full = len(self._clipped) == self._clipped.maxlen
        return self._num_clipped / len(self._clipped) if full else 0.0

    def growth(self, share: float) -> float:
        """Return by what factor the trend of the last ``share`` of the norms grew; 1 for none."""
        tail = [(at, norm) for at, norm in self._history if at >= (1 - share) * self.count]
        if len(tail) < 20:
            return 1.0
        chosen = [tail[index] for index in spread_out(len(tail), 200)]
        at, norms = np.array([c[0] for c in chosen]), np.array([c[1] for c in chosen])
        slope = theil_sen(at, np.log(np.maximum(norms, 1e-300)))
        return math.exp(min(slope * float(at[-1] - at[0]), 700.0))

    def _remember(self, step: StepNumber, norm: float) -> None:
        if self.count % self._stride == 0:
            self._history.append((self.count, norm))
            if len(self._history) >= 2 * self._HISTORY:
                self._history = self._history[::2]
                self._stride *= 2
        self.count += 1
        self.last_step = step


def spread_out(count: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most ``most`` indices below ``count``, evenly spread, both ends included.

    Example:
        >>> spread_out(10, 4).tolist(), spread_out(3, 4).tolist()
        ([0, 3, 6, 9], [0, 1, 2])
    """
    if count <= most:
        return np.arange(count)
    return np.round(np.linspace(0, count - 1, most)).astype(np.intp)


#: Weights that no optimizer of PyTorch holds went up their gradients at so many looks, in such a
#: part of them, by so many standard deviations.
_LEAST_UPHILL, _PART_UPHILL, _Z_UPHILL = 12, 0.65, 3.4


class Uphill:
    """Counts how often weights went the way of their gradients, by the sums of their elements.

    Whatever the optimizer does with a gradient, its step has mostly the other sign. Compared are
    steps that follow each other, and weights that no optimizer is known to hold: one of PyTorch
    knows its sign.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Layout, _Free] = WeakKeyDictionary()
        self._before: tuple[tuple[str, ...], int, Floats, Floats] | None = None
        self._began_uphill: bool | None = None
        #: At how many looks, at weights one by one, they went uphill; and at how many at all.
        self.num_uphill = self.num_looks = 0

    def add(self, record: StepRecord, mode_step: int) -> None:
        """Add a TRAIN step of one worker; weights are those with which it began."""
        if (free := self._known.get(record.layout)) is None:
            free = self._known[record.layout] = _Free.of(record.layout)
        weights, gradients = (record.statistics[one, SUM] for one in (free.rows, free.gradients))
        before, self._before = self._before, (free.names, mode_step, weights, gradients)
        if before is None or before[:2] != (free.names, mode_step - 1):
            return
        with np.errstate(invalid="ignore", over="ignore"):
            signs = np.sign(weights - before[2]) * np.sign(before[3])
        ups, downs = int((signs > 0).sum()), int((signs < 0).sum())
        if self._began_uphill is None and ups + downs:  # a warm-up may begin at a rate of 0
            self._began_uphill = ups > downs
        self.num_uphill += ups
        self.num_looks += ups + downs

    def holds(self) -> bool:
        """Return whether weights go uphill, and did from the first look on.

        What momentum has thrown too far may go so later on, at a learning rate that is too high.
        """
        if self.num_looks < _LEAST_UPHILL or not self._began_uphill:
            return False
        part = self.num_uphill / self.num_looks
        return part >= _PART_UPHILL and (2 * part - 1) * math.sqrt(self.num_looks) >= _Z_UPHILL


@dataclass(frozen=True, eq=False)
class _Free:
    """Weights that no optimizer of PyTorch holds, with a gradient.

    Args:
        names: Theirs.
        rows: Where they stand,
        gradients: and where their gradients do.
    """

    names: tuple[str, ...]
    rows: Rows
    gradients: Rows

    @classmethod
    def of(cls, layout: Layout) -> _Free:
        found = [
            (row, gradient)
            for row in layout.rows_of.get("weights", ())
            if not layout.tensors[row].optimizer_groups
            and (gradient := layout.row_of.get(f"gradient/{layout.tensors[row].name}")) is not None
        ]
        both = np.array(found, np.intp).reshape(-1, 2)
        names = tuple([layout.tensors[row].name for row, _ in found])
        return cls(names, both[:, 0], both[:, 1])


class OptimizerPace:
    """Remembers how often optimizers update, and gradients are computed, for each TRAIN step."""

    def __init__(self) -> None:
        self._before = (-1, 0.0)
        #: Steps of optimizers in a TRAIN step, at the last one that holds them.
        self.updates = 0.0
        self._backwards = 0.0

    @property
    def are_two(self) -> bool:
        """Whether two optimizers update in a step, each by a backward pass of its own."""
        return self.updates >= 2 and self._backwards >= 2

    def add(self, step: StepView, worker: str) -> None:
        """Add a step; of one that does not hold it, as between full steps, nothing is known."""
        count = step.scalar("loop/optimizer_steps", worker)
        if math.isnan(count) or step.mode_step <= self._before[0]:
            return
        at, counted = self._before
        self.updates = (count - counted) / (step.mode_step - at)
        self._before = step.mode_step, count
        # full steps now and then miss a pass that was before they were known to be full
        self._backwards = max(self._backwards, step.scalar("loop/backwards", worker))
