"""A model that is no better than guessing."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, SUM, SUM_SQ
from .checks import Floats, number
from .rule import Findings, Rule
from .scalars import First
from .scope import above, at_least, within
from .step_view import StepView, TensorView

#: A loss with this share of all steps is not played against by the others.
RARE = 0.9
#: A loss that is at most so many times that of guessing is near it.
NEAR = 1.05
#: Of fewer labels the frequencies look less even than they are, so guessing looks cheaper.
LEAST_PER_CLASS = 20


def entropy(counts: Floats) -> float:
    """Return the entropy of class frequencies in nats: the loss of guessing by frequency.

    Args:
        counts: Shape ``[classes]``, at least 0.

    Returns:
        From 0 to ``log(classes)`` (Shannon: A mathematical theory of communication, 1948); 0
        where nothing was counted.
    """
    total = counts.sum()
    shares = counts[counts > 0] / total if total else counts[:0]
    return float(-(shares * np.log(shares)).sum())


def agreement_z(confusion: Floats) -> float:
    """Return how many standard deviations more guesses are right than by chance.

    Args:
        confusion: Shape ``[classes, classes]``, how often each class was taken for which.

    Returns:
        Of the number of agreements under independence of its margins (Cohen: A coefficient of
        agreement for nominal scales, 1960), normal approximation; nan where nothing was counted,
        0 where there is one class or one guess only.
    """
    total = confusion.sum()
    if not total:
        return math.nan
    expected = float((confusion.sum(0) * confusion.sum(1)).sum() / total**2)
    spread = math.sqrt(total * expected * (1 - expected)) if 0 < expected < 1 else math.inf
    return float((np.trace(confusion) - total * expected) / spread)


class _Window:
    """The last losses of one name and what their targets were like.

    Args:
        size: TRAIN steps.
    """

    def __init__(self, size: int) -> None:
        self.losses: deque[float] = deque(maxlen=size)
        #: Number, sum and sum of squares of the targets of each step.
        self.moments: deque[Floats] = deque(maxlen=size)
        #: Counts of the steps at which they were saved.
        self.confusions: deque[Floats] = deque(maxlen=max(1, size // 10))
        self.count = 0


class ChanceLevel(Rule):
    """A loss that stays where guessing is, or climbs above it.

    Guessing by frequency costs the entropy of the classes, natural logarithm, and guessing the
    mean costs the variance of the targets; neither depends on the model. Reported, over the last
    ``num_steps`` TRAIN steps: a cross-entropy of at least ``1 - margin`` of that, while the
    guesses agree with the labels no more often than by chance (``guessing``); and a cross-entropy
    or mean square above ``worse_ratio`` times it that has grown since the first steps
    (``worse``).

    Judged are steps with one such loss: two may play against each other. Where a sample has several
    labels a model may well begin with their frequencies, as that of a language does: there the
    loss must have come to rest, within ``rest`` from the first half of the steps to the second, and
    near the loss of guessing. Only ``worse`` is judged of two classes, because a discriminator
    ought to end up guessing (Goodfellow et al.: Generative adversarial nets, 2014).

    Args:
        num_steps: TRAIN steps before and of a judgement.
        margin: So much less than the loss of guessing, as a fraction of it, is no success.
        worse_ratio: So many times the loss of guessing is worse than that. Above 1.
        min_z: Agreement above this many standard deviations is no chance.
        rest: So little, as a fraction of the loss, is no change.
    """

    name = "chance_level"
    needs = ("classes", "labels")
    per_model = True

    def __init__(
        self,
        num_steps: int = 200,
        margin: float = 0.02,
        worse_ratio: float = 2.0,
        min_z: float = 3.0,
        rest: float = 0.02,
    ) -> None:
        at_least("num_steps", num_steps, 10)
        within("margin", margin, 0, 1)
        above("worse_ratio", worse_ratio, 1)
        above("min_z", min_z, 0)
        self.num_steps, self.margin = num_steps, margin
        self.worse_ratio, self.min_z = worse_ratio, min_z
        above("rest", rest, 0, up_to=1)
        self.rest = rest
        self._windows: dict[str, _Window] = {}
        self._first = First(20)
        self._judged = False

    def check(self, step: StepView) -> Findings:
        losses = list(_judged_losses(step)) if step.trains else []
        if len({loss.name for loss in losses}) != 1:
            return
        name = losses[0].name
        window = self._windows.get(name)
        if window is None:
            window = self._windows[name] = _Window(self.num_steps)
        for loss in losses:
            self._add(step, window, loss)
        window.count += 1
        if window.count > self.num_steps and self._is_alone(window):
            yield from self._judge(step, losses[0], window)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        if not any(map(self._is_alone, self._windows.values())) and self._windows:
            return f"{len(self._windows)} losses may play against each other"
        most = max((window.count for window in self._windows.values()), default=0)
        return (
            f"a loss with countable classes or a mean square was seen at {most} TRAIN steps"
            f", {self.num_steps} are needed"
        )

    def _add(self, step: StepView, window: _Window, loss: TensorView) -> None:
        what = loss.name.removeprefix("loss/")
        value = loss.scalar
        window.losses.append(value)
        self._first.of(loss.name, value)
        label = step.tensor(f"label/{what}", loss.worker)
        if label is not None:
            window.moments.append(label.record.statistics[label.row, [COUNT, SUM, SUM_SQ]])
        confusion = loss.record.raw.get(f"confusion/{what}")
        if confusion is not None:
            window.confusions.append(np.asarray(confusion, np.float64))

    def _judge(self, step: StepView, loss: TensorView, window: _Window) -> Findings:
        now = float(np.mean(window.losses))
        chance, z = self._guessing(loss, window)
        if not chance > 0:
            return
        self._judged = True
        first = self._first.of(loss.name, now)
        worse = now > self.worse_ratio * max(chance, first) and not z >= self.min_z
        guesses = z < self.min_z and now >= (1 - self.margin) * chance
        if worse or (guesses and self._may_guess(step, loss, window, now / chance)):
            yield self._finding(step, loss, (now, chance, z), worse=worse)

    def _is_alone(self, window: _Window) -> bool:
        """Return whether other losses are too rare to play against this one."""
        return window.count > RARE * sum(other.count for other in self._windows.values())

    def _may_guess(self, step: StepView, loss: TensorView, window: _Window, ratio: float) -> bool:
        """Return whether a loss where guessing is means guessing."""
        num_classes, is_one = _labels(step, loss)
        if num_classes <= 2 or is_one:
            return num_classes > 2
        half = len(window.losses) // 2
        before, now = np.mean(list(window.losses)[:half]), np.mean(list(window.losses)[half:])
        return bool(abs(now - before) <= self.rest * abs(before) and ratio <= NEAR)

    def _guessing(self, loss: TensorView, window: _Window) -> tuple[float, float]:
        """Return the loss of guessing and how the guesses agree; nan for what is not known."""
        if "mse" in loss.name.lower():
            number_of, total, squares = np.sum(window.moments, axis=0)
            return float(squares / number_of - (total / number_of) ** 2), math.nan
        if not window.confusions:
            return math.nan, math.nan
        counted = np.sum(window.confusions, axis=0)
        if counted.sum() < LEAST_PER_CLASS * len(counted):
            return math.nan, math.nan
        return entropy(counted.sum(1)), agreement_z(counted)

    def _finding(
        self, step: StepView, loss: TensorView, numbers: tuple[float, float, float], *, worse: bool
    ) -> Finding:
        now, chance, z = numbers
        of_what = "the mean of the targets" if math.isnan(z) else "classes by their frequency"
        agree = "" if math.isnan(z) else f"; guesses agree with labels {number(z)} standard"
        agree += " deviations more often than by chance" if agree else ""
        limit = self.worse_ratio * chance if worse else (1 - self.margin) * chance
        return Finding(
            self.name,
            step.number,
            loss.name,
            f"{loss.name}: its mean over {self.num_steps} TRAIN steps up to step {step.number} is"
            f" {number(now)}, guessing {of_what} costs {number(chance)}{agree}",
            value=now,
            threshold=limit,
            condition="worse" if worse else "guessing",
            remedy="check the sign of the loss and the learning rate"
            if worse
            else "check that each label belongs to its sample, that inputs reach the model, and the"
            " learning rate",
            evidence={"guessing": chance, "agreement_z": z},
        )


def _judged_losses(step: StepView) -> list[TensorView]:
    """Return the scalar losses of a step of which it is known what guessing costs."""
    found = []
    for loss in step.tensors("losses"):
        what = loss.name.removeprefix("loss/")
        rows = loss.record.layout.row_of
        is_square = "mse" in what.lower() and f"label/{what}" in rows
        if is_square or (f"prediction/{what}" in rows and _has_classes(what)):
            found.append(loss)
    return found


def _has_classes(loss: str) -> bool:
    return any(word in loss for word in ("cross_entropy", "nll_loss", "CrossEntropy", "NLL", "BCE"))


def _labels(step: StepView, loss: TensorView) -> tuple[int, bool]:
    """Return how many classes a loss is of, and whether each sample has one label."""
    what = loss.name.removeprefix("loss/")
    label, prediction = (
        step.tensor(f"{kind}/{what}", loss.worker) for kind in ("label", "prediction")
    )
    batches = [tensor for tensor in step.tensors("batches") if tensor.worker == loss.worker]
    if label is None or prediction is None:
        return 0, False
    samples = sum(batch.info.shape[0] for batch in batches if batch.info.shape)
    shape = prediction.info.shape
    num_classes = shape[1] if len(shape) > 1 else 0
    return num_classes, bool(label.statistics.count <= samples)
