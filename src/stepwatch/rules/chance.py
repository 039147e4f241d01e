"""What guessing costs, and models that do no better."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Rule
from ..judge.step_view import StepNumber, StepView, TensorView
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import Floats, listed, number
from ..numerics.statistics import COUNT, SUM, SUM_SQ
from .baselines import NearestLabels, OtherData
from .circumstances import SCALE_TARGETS, Circumstances
from .classes import added
from .confusion import (
    TELLING,
    agreement_z,
    all_counts,
    are_halves,
    edge_bound,
    entropy,
    entropy_variance,
    estimated_entropy,
    renumbered,
)
from .history import FELL, WAIT, FirstValues, Series
from .samples import ALL_DATA, Samples
from .shared import BINARY, CROSS_ENTROPIES, has_sums, named_losses, of_same_loss, prefixed

# Negative log-likelihoods; what guessing costs is known of those whose classes are counted.
_LIKELIHOODS = (*CROSS_ENTROPIES, "nll_loss", "gaussian_nll_loss", "poisson_nll_loss")
#: A loss with this share of all steps is not played against by the others.
RARE = 0.9
#: A loss that is at most so many times that of guessing is near it.
NEAR = 1.05
#: Predictions that differ by less than this part of what targets do are the same, if that is so at
#: so many looks and at the last one no more than so many times the least of them.
SAME, LOOKS, STILL = 0.1, 5, 1.1
#: Or, though they still differ more and more, by less than this when training ends.
SAME_AT_END = 0.067
#: In fewer evaluations, or passes through the data before the last, a model may be late.
ROUNDS = 5
#: Of fewer labels the frequencies are hardly known.
LEAST_PER_CLASS = 10
#: Losses of numbers, by the power of the error of which they are the mean.
ERRORS = {"mse_loss": 2, "l1_loss": 1}
#: In evaluations guesses are told from chance by fewer, if so many were seen.
LEAST_HELD_OUT, LEAST_GUESSES = 5, 30
#: Of two classes as frequent, guesses that agree in so much of what chance leaves have an edge:
#: five in a hundred more are right. Fewer labels do not tell it from none, and the loss hardly
#: falls.
EDGE = 0.1
#: Who went through the data so often has learned of it what there is to learn.
PASSES = 3.0
#: So many targets tell what guessing their mean costs, in the one evaluation after the training.
LEAST_TARGETS = 100
#: So large a share of evaluated labels is told, if it is of classes that no label has at so many
#: full steps of TRAIN or more, though so many would, were these as frequent there.
UNSEEN, UNSEEN_LOOKS, UNSEEN_LABELS = 0.1, 5, 20
#: A mean square below this part of guessing has been learned.
LEARNED = 0.5


class _Window:
    """The last losses of one name and what their targets were like.

    Args:
        size: TRAIN steps.
    """

    def __init__(self, size: int) -> None:
        self.losses: deque[float] = deque(maxlen=size)
        #: Number, sum and sum of squares of the targets of each step.
        self.moments: deque[Floats] = deque(maxlen=size)
        #: The loss of each of these steps.
        self.paired: deque[float] = deque(maxlen=size)
        #: Counts of the steps at which they were saved.
        self.confusions: deque[Floats] = deque(maxlen=max(1, size // 10))
        self.count = 0
        #: The first step of all, and the lowest mean of a quarter of so many steps since then.
        self.first: StepNumber | None = None
        self.last = StepNumber(0, 0)
        self.best = math.inf
        #: Of which power of the errors the loss is a mean; ``None`` for another loss.
        self.power: int | None = None
        self._quarter: list[float] = []
        #: The mean of each such quarter, and the variance of that by the scatter of its losses.
        self.quarters: list[tuple[float, float]] = []
        #: How guesses agreed at full steps since half of so many steps.
        self.trained: Floats = np.zeros((0, 0))
        #: How many labels of each class there were at full steps, and how many of these.
        self.labels: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.num_looks = 0

    def add(self, step: StepView, loss: float) -> None:
        """Add the loss of a step."""
        self.first, self.last = self.first or step.at, step.at
        self.losses.append(loss)
        self._quarter.append(loss)
        if 4 * len(self._quarter) >= (self.losses.maxlen or 1):
            mean = float(np.mean(self._quarter))
            self.best = min(self.best, mean)
            self.quarters.append((mean, float(np.var(self._quarter)) / len(self._quarter)))
            self._quarter = []

    def late_mean(self) -> float:
        """Return the mean of the last quarter of the losses."""
        return float(np.mean([*self.losses][-(len(self.losses) + 3) // 4 :]))

    def count_guesses(self, confusion: Floats) -> None:
        """Add how the guesses of a step agreed with its labels."""
        self.confusions.append(confusion)
        self.labels = added([self.labels, confusion.sum(1).astype(np.int64)])
        self.num_looks += 1
        if 2 * self.count >= (self.losses.maxlen or 1):
            self.trained = all_counts([self.trained, confusion])

    def share_of_guessing(self, power: int) -> float:
        """Return the mean error to a power, as a share of that of guessing the mean.

        Both are of the same samples, those of the later half of the steps whose targets are known:
        that few of them tell the variance of all to some hundredths only does not matter.
        """
        later = len(self.moments) // 2
        moments = np.array(self.moments)[later:]
        count, total, squares = moments.sum(axis=0)
        error = moments[:, 0] @ np.array(self.paired)[later:] / count
        variance = _variance(count, total, squares)
        return float(error) / variance ** (power / 2) if variance > 0 else math.inf

    def learns(self, chance: float, variance: float) -> bool:
        """Return whether the losses still fall, or are below those of guessing.

        Args:
            chance: The loss of guessing,
            variance: and that of its estimate.
        """
        if len(self.quarters) < 2:
            return False
        (before, of_before), (last, of_last) = self.quarters[-2:]
        if before - last > TELLING * math.sqrt(of_before + of_last):
            return True
        half = np.array(self.quarters[len(self.quarters) // 2 :])
        mean, of_mean = half[:, 0].mean(), half[:, 1].mean() / len(half)
        return bool(chance - mean > TELLING * math.sqrt(of_mean + variance))


@dataclass(slots=True)
class _HeldOut:
    """The evaluations of one loss, each over the steps of EVAL between two of TRAIN."""

    name: str
    worker: str
    first: StepNumber
    step: StepNumber
    num_rounds: int = 0
    best: float = math.inf
    #: Its mean in the evaluation after the last TRAIN step; nan if there is none.
    last: float = math.nan
    losses: list[float] = field(default_factory=list)
    confusions: list[Floats] = field(default_factory=list)
    #: Number, sum and sum of squares of targets, where each sample has one.
    moments: list[Floats] = field(default_factory=list)
    #: A binary cross-entropy; else a mean square, or one of classes.
    is_binary: bool = False

    @property
    def has_shares(self) -> bool:
        """Whether targets of a binary cross-entropy lie between 0 and 1."""
        return self.is_binary and any(total != squares for _, total, squares in self.moments)

    def end(self) -> None:
        self.last = math.nan
        if self.losses:
            self.last = float(np.mean(self.losses))
            self.best = min(self.best, self.last)
            self.num_rounds += 1
            self.losses = []


class ChanceLevel(Rule):
    """A loss that stays where guessing is, or climbs above it.

    Guessing by frequency costs the entropy of the classes, natural logarithm, and guessing the
    mean costs the variance of the targets; neither depends on the model. Reported, over the last
    ``num_steps`` TRAIN steps: a cross-entropy of at least ``1 - margin`` of that, while the
    guesses agree with the labels no more often than by chance, or a mean square of as much
    (``guessing``), or a mean of absolute errors above the standard deviation, which is more than
    guessing costs there; and a cross-entropy or mean square above ``worse_ratio`` times
    it that has grown since the first steps (``worse``). And, of values of several elements such as
    images, predictions that differ from sample to sample by less than a tenth of what their targets
    do, by standard deviations, on average over the steps that the last ``LOOKS`` full ones
    span, and do not grow (``same``): a decoder that gives the mean of the data. At the end, a
    cross-entropy that fell below guessing in none of ``ROUNDS`` or more
    evaluations, while the guesses in these agree with the labels no more often than by chance
    (``held_out``): what is learned is no rule that goes from inputs to labels. Likewise a mean
    square of one target a sample, or a binary cross-entropy of targets between 0 and 1, that fell
    half the way from guessing in TRAIN, and in evaluations
    is above what the mean of the training's targets costs there: in ``ROUNDS``, or in the one
    after the last TRAIN step. Where evaluations take nearly all of each class for one other,
    one to one, and training went below half of guessing, the numbers of classes are others
    (``renumbered``). Where a tenth or more of the evaluated labels is of classes of which training
    had none at ``UNSEEN_LOOKS`` full steps or more, that is told (``unseen``). And where none of
    these holds, evaluated samples whose labels those of the nearest samples of the training tell
    better than the model does (``nearest``). Where some evaluated data were learned, and others
    cost more than they did untrained, that is told (``other_data``).

    Judged are steps with one such loss: two may play against each other. It gives no weights to
    classes or samples, and must have come to rest, within ``rest`` from the first half of the
    steps to the second: a model may well begin with the frequencies. Where nothing tells the
    cause, it must last for ``WAIT`` more steps, or to the end. A cross-entropy that still falls or
    is below guessing by more than its batches scatter is none of guesses; and of two classes, of
    which little may be there to learn, many labels or passes through the data must have shown no
    edge over chance. Where a sample has several
    labels, as in a language, it must also be near the loss of guessing. Of two classes, and
    targets of 0 and 1, only ``worse`` is judged if each step has half of either: that is how a
    discriminator is given what it ought to end up guessing (Goodfellow et al.: Generative
    adversarial nets, 2014).
    """

    name = "chance_level"
    needs = ("classes", "labels", "losses")
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {
        "held_out": "held_out",
        "renumbered": "data",
        "unseen": "data",
        "other_data": "data",
        "same *": "collapse",
        "*": "outcome",
    }
    view = EvidenceView("losses", "mean")

    num_steps: int = parameter(200, "TRAIN steps before and of a judgement.", at_least=10)
    margin: float = parameter(
        0.02, "Less than guessing by this fraction of it is no success.", between=(0, 1)
    )
    worse_ratio: float = parameter(
        2.0, "So many times the loss of guessing is worse than that.", above=1
    )
    min_z: float = parameter(
        3.0, "Agreement above this many standard deviations is no chance.", above=0
    )
    rest: float = parameter(
        0.02, "So little, as a fraction of the loss, is no change.", above=0, at_most=1
    )

    def begin(self) -> None:
        self._windows: dict[str, _Window] = {}
        self._first = FirstValues(20)
        self._circumstances = Circumstances()
        self._weighted: set[str] = set()
        self._num_summed: dict[str, float] = {}  # of how many targets a loss is the sum
        self._spreads: Series[tuple[str, str], tuple[int, float]] = Series(LOOKS)
        # Predictions that are nearly the same, and differ more and more; by their last look.
        self._grows_slowly: dict[tuple[str, str], StepNumber] = {}
        self._held_out: dict[str, _HeldOut] = {}
        self._samples = Samples()
        self._nearest, self._others, self._last_step = NearestLabels(), OtherData(), 0
        # Findings that are waited for, and at how many steps they began to be.
        self._waiting: dict[str, tuple[Finding, int]] = {}
        self._told: set[str] = set()  # losses that were found to be where guessing is
        self._can_evaluate = False
        self._passes = 0.0  # through the data, as far as it is known

    def check(self, step: StepView) -> Findings:
        self._samples.add(step)
        if not step.trains:
            self._add_held_out(step)
            self._nearest.add(step)
            self._others.add(step)
            return
        self._last_step = step.train_step
        self._others.train(step)
        for held_out in self._held_out.values():
            held_out.end()
        self._circumstances.add(step)
        passes = [step.scalar("loop/epoch", worker) for worker in step.workers]
        self._passes = max([self._passes, *(one for one in passes if not math.isnan(one))])
        yield from self._evaluate_spreads(step)
        self._weighted |= named_losses(
            step, "setup/weighted/", "setup/class_weight/", "setup/inner/"
        )
        losses = _evaluated_losses(step)
        is_thin = not losses  # of a step between full ones the loss is all that is known
        losses = [one for one in losses if one.name not in self._weighted]
        if is_thin:
            losses = [one for one in step.tensors("losses") if one.name in self._windows]
        if len({loss.name for loss in losses}) != 1:
            return
        window = self._windows.setdefault(losses[0].name, _Window(self.num_steps))
        for loss in losses:
            self._add(step, window, loss)
        window.count += 1
        if window.count > self.num_steps and not is_thin and self._is_alone(window):
            self._can_evaluate = True
            yield from self._evaluate(step, losses[0], window)

    def _add_held_out(self, step: StepView) -> None:
        if step.mode is not Mode.EVAL:
            return
        for loss in step.tensors("losses"):
            if loss.info.function not in (*CROSS_ENTROPIES, "mse_loss"):
                continue
            held_out = self._held_out.setdefault(
                loss.name, _HeldOut(loss.name, loss.worker, step.at, step.at)
            )
            held_out.is_binary = loss.info.function in BINARY
            held_out.step = step.at
            held_out.losses.append(loss.scalar)
            confusion = loss.record.raw.get(f"confusion/{loss.name.partition('/')[2]}")
            if confusion is not None:
                held_out.confusions.append(np.asarray(confusion, np.float64))
            label = of_same_loss(step, loss, "label")
            is_of_classes = loss.info.function in CROSS_ENTROPIES and not held_out.is_binary
            if label is not None and not is_of_classes and math.prod(label.info.shape[1:]) == 1:
                held_out.moments.append(label.record.statistics[label.row, [COUNT, SUM, SUM_SQ]])

    def finish(self) -> Findings:
        told = set(self._told)
        for found in self._evaluate_ends():
            told.add(found.tensor)
            yield found
        for found in self._evaluate_others(told):
            told.add(found.tensor)
            yield found
        yield from self._evaluate_nearest(told)

    def _evaluate_ends(self) -> Findings:
        for name, (found, count) in self._waiting.items():
            of = self._windows[name]
            if of.count - count < WAIT and of.late_mean() > FELL * (found.value or 0.0):
                self._told.add(name)
                yield found
        for name, known in self._windows.items():
            yield from self._evaluate_end(name, known)
        for key, at in self._grows_slowly.items():
            yield from self._same(at, key, SAME_AT_END)
        for held_out in self._held_out.values():
            held_out.end()
            name = held_out.name
            window = self._windows.get(name)
            if window is None or name in self._weighted or name in self._num_summed:
                continue
            trained = window.late_mean()
            unseen = _shares_of_unseen_classes(held_out.confusions, window)
            # What is evaluated may be a model that was trained before, of other classes.
            if unseen.any() and self.num_models == 1:
                yield self._unseen_classes_finding(held_out, window, unseen)
            elif held_out.confusions and not held_out.has_shares:
                yield from self._evaluate_held_out(held_out, trained)
            elif held_out.moments and window.moments:
                yield from self._evaluate_held_out_targets(held_out, window, trained)

    def _evaluate_others(self, told: set[str]) -> Findings:
        """Judge data that were never learned beside some that were, by the same weights.

        Args:
            told: Losses of which more is known.
        """
        for name, best, worst, first in self._others.apart():
            if name in told or name in self._weighted:
                continue
            yield self.finding(
                worst.at,
                name,
                f"{name}: with the same weights it is {number(worst.loss)} on some evaluated data"
                f" and {number(best.loss)} on others; untrained the model lost {number(first)}: it"
                " takes the one kind for something else",
                worker=worst.worker,
                mode="EVAL",
                value=worst.loss,
                threshold=first,
                condition="other_data",
                remedy="compare a sample of each as it reaches the model: vocabulary, scaling,"
                " order of columns, channels and classes must be those of the training",
            )

    def _evaluate_nearest(self, told: set[str]) -> Findings:
        """Judge models that do worse than the labels of the nearest samples.

        Args:
            told: Losses of which more is known.
        """
        for loss, found in self._nearest.worse(self._last_step):
            if f"loss/{loss}" in told:
                continue
            known = "the label of the sample of the training that is nearest to each"
            if found.are_classes:
                what = (
                    f"of {number(found.number)} evaluated samples the model is wrong for"
                    f" {number(found.off)}, and {known} for {number(found.nearest)}"
                )
            else:
                what = (
                    f"over {number(found.number)} evaluated samples the mean square of what the"
                    f" model is off by is {number(found.off / found.number)}, and of {known}"
                    f" {number(found.nearest / found.number)}"
                )
            yield self.finding(
                found.at,
                f"loss/{loss}",
                f"loss/{loss}: {what}: there is more to learn in the data than was learned",
                worker=found.worker,
                mode="EVAL",
                value=found.off / found.number,
                threshold=found.nearest / found.number,
                condition="nearest",
                remedy="see what holds the model back: what it is given in the place of the data,"
                " its last layer and loss, the learning rate, and whether it is evaluated as it was"
                " trained: the same scaling, weights and mode",
            )

    def _evaluate_held_out(self, held_out: _HeldOut, trained: float) -> Findings:
        """Judge evaluations of a cross-entropy that fell to ``trained`` in TRAIN."""
        counted = all_counts(held_out.confusions)
        if np.count_nonzero(counted.sum(1)) < 2:
            return  # of one class, as in the first part of sorted data, there is nothing to guess
        chance, z = estimated_entropy(counted.sum(1)), agreement_z(counted)
        if trained < LEARNED * chance and (numbers := renumbered(counted)):
            yield self._renumbered_finding(held_out, trained, numbers)
            return
        least = max(LEAST_HELD_OUT * len(counted), LEAST_GUESSES)
        has_many = held_out.num_rounds >= ROUNDS
        if not (has_many or self._passes >= ROUNDS) or counted.sum() < least:
            return
        limit = (1 - self.margin) * chance
        value = held_out.best if has_many else held_out.last
        # Of two classes little may be there to learn.
        may_be_hard = len(counted) <= 2 and (
            are_halves(held_out.confusions)
            or edge_bound(counted, counted.sum() / max(held_out.num_rounds, 1)) >= EDGE
        )
        if trained >= limit and (may_be_hard or held_out.name in self._told):
            return
        if value >= limit and not z >= self.min_z:
            how = "in the last evaluation it was"
            if has_many:
                how = f"in {held_out.num_rounds} evaluations never below"
            what = "what is learned does not hold for the evaluated data: in training it fell to"
            if trained >= limit:
                what = "nothing is learned that holds for other data: in training it came to"
            yield self._held_out_finding(
                held_out,
                f"{what} {number(trained)}, and {how} {number(value)}; guessing classes by their"
                f" frequency costs {number(chance)}, and guesses there agree with the labels no"
                " more often than by chance",
                value,
                limit,
                {"guessing": chance, "agreement_z": z},
            )

    def _unseen_classes_finding(
        self, held_out: _HeldOut, window: _Window, unseen: Floats
    ) -> Finding:
        share, classes = float(unseen.sum()), [str(one) for one in np.flatnonzero(unseen)]
        which = "class" if len(classes) == 1 else "classes"
        return self.finding(
            held_out.step,
            held_out.name,
            f"{held_out.name}: {number(100 * share)}% of the labels that are evaluated are of"
            f" {which} {listed(classes)}, which none of the {number(window.labels.sum())} labels"
            " had that were looked at in training",
            worker=held_out.worker,
            mode="EVAL",
            value=share,
            threshold=UNSEEN,
            onset=held_out.first,
            condition="unseen",
            remedy="shuffle the samples before they are split, as train_test_split does, best with"
            " stratify=labels; validation_split of Keras takes the last rows as they lie, whatever"
            " shuffle says",
        )

    def _renumbered_finding(
        self, held_out: _HeldOut, trained: float, numbers: Mapping[int, int]
    ) -> Finding:
        pairs = [f"{one} for {other}" for one, other in numbers.items()]
        return self.finding(
            held_out.step,
            held_out.name,
            f"{held_out.name}: classes have other numbers in evaluation than in training: there the"
            f" model takes nearly all of each for one other, class {listed(pairs)}, one to one,"
            f" while the loss fell to {number(trained)} in training",
            worker=held_out.worker,
            mode="EVAL",
            value=held_out.last if math.isfinite(held_out.last) else held_out.best,
            threshold=trained,
            onset=held_out.first,
            condition="renumbered",
            remedy="number the classes once, on the training data, and look the labels of all other"
            " data up in that: two calls of pandas.factorize, two vocabularies or a directory with"
            " other folders number them anew",
        )

    def _evaluate_held_out_targets(
        self, held_out: _HeldOut, window: _Window, trained: float
    ) -> Findings:
        """Judge evaluations of a loss of numbers that fell to ``trained`` in TRAIN."""
        costs = _shares_cost if held_out.has_shares else _squares_cost
        seen, unseen = (np.sum(one.moments, axis=0) for one in (window, held_out))
        guessing, (in_training, least) = costs(seen, unseen)[0], costs(seen, seen)
        learned = least + LEARNED * (in_training - least)
        value = held_out.best if held_out.num_rounds >= ROUNDS else held_out.last
        if unseen[0] >= LEAST_TARGETS and value > guessing and trained < learned:
            yield self._held_out_finding(
                held_out,
                f"what is learned does not hold for the evaluated data: in training it fell to"
                f" {number(trained)}, in evaluation it is {number(value)}"
                f"{' at best' if held_out.num_rounds >= ROUNDS else ''}, where to predict the mean"
                f" of the training's targets costs {number(guessing)}",
                value,
                guessing,
                {"guessing": guessing},
            )

    def _held_out_finding(
        self,
        held_out: _HeldOut,
        what: str,
        value: float,
        threshold: float,
        evidence: Mapping[str, float],
    ) -> Finding:
        few, pairing = self._samples.fewer(), self._circumstances.pairing()
        why = pairing.sentence if pairing.cause == "apart" else ""
        unlike = "" if why else self._samples.apart()
        prepared = (
            "check that each label belongs to its sample, in the data of training and in those of"
            " the evaluation, and that both are prepared alike: with the same scaling, order of"
            " columns and axes, vocabulary and numbers of ids"
        )
        return self.finding(
            held_out.step,
            held_out.name,
            f"{held_out.name}: {what}{few}{why}{unlike}",
            worker=held_out.worker,
            mode="EVAL",
            value=value,
            threshold=threshold,
            onset=held_out.first,
            condition="held_out",
            remedy=ALL_DATA if few else pairing.remedy if why else prepared,
            evidence=evidence,
        )

    def _evaluate_spreads(self, step: StepView) -> Findings:
        for group in prefixed(step, "classes", "spread/"):
            for tensor in group:
                name = tensor.name.removeprefix("spread/")
                key = (tensor.worker, name)
                looks = self._spreads.add(key, (step.mode_step, tensor.scalar))
                if len(looks) < LOOKS or step.mode_step < self.num_steps:
                    continue
                self._evaluated = True
                last = np.array([spread for _, spread in looks])
                # What learns to tell samples apart does so more and more.
                if last[-1] <= STILL * last.min():
                    yield from self._same(step.at, key, SAME)
                elif last[-1] < SAME_AT_END:
                    self._grows_slowly[key] = step.at
                    continue
                self._grows_slowly.pop(key, None)

    def _same(self, step: StepNumber, key: tuple[str, str], limit: float) -> Findings:
        """Judge predictions of the last looks, of a worker and a loss."""
        at, last = np.array(self._spreads[key]).T
        # Over the steps, which looks divide more coarsely as a training goes on.
        mean = float(np.average((last[1:] + last[:-1]) / 2, weights=np.diff(at)))
        worker, name = key
        if mean < limit:
            yield self.finding(
                step,
                f"spread/{name}",
                f"what is predicted for {name} is nearly the same for every sample: it differs by"
                f" {number(100 * mean)}% of what the targets differ by, on average from step"
                f" {int(at[0])} to step {step.train_step}",
                worker=worker,
                mode="TRAIN",
                value=mean,
                threshold=limit,
                condition=f"same {name}",
                remedy="check that the inputs reach the prediction, and that no other part of the"
                " loss outweighs this one, or goes against it: a KL term that is summed where the"
                " reconstruction is averaged, a score such as Dice that is added in place of"
                " 1 - score",
            )

    def unevaluated(self) -> str | None:
        if self._evaluated:
            return None
        if not any(map(self._is_alone, self._windows.values())) and self._windows:
            return f"{len(self._windows)} losses may play against each other"
        most = max((window.count for window in self._windows.values()), default=0)
        if most <= self.num_steps:
            return (
                f"a loss with countable classes or a mean square was seen at {most} TRAIN steps"
                f", more than {self.num_steps} are needed"
            )
        if not self._can_evaluate:
            return (
                "the predictions and targets of a loss with countable classes or a mean square were"
                f" seen at none of the {most - self.num_steps} TRAIN steps after the first"
                f" {self.num_steps}"
            )
        return "fewer labels were counted than tell what guessing costs"

    def _add(self, step: StepView, window: _Window, loss: TensorView) -> None:
        label = of_same_loss(step, loss, "label")
        if label is not None and has_sums(step, loss.worker):
            self._num_summed[loss.name] = float(label.statistics.count)
        value = loss.scalar / self._num_summed.get(loss.name, 1.0)
        window.add(step, value)
        window.power = ERRORS.get(loss.info.function)
        self._first.of(loss.name, value)
        if label is not None:
            window.moments.append(label.record.statistics[label.row, [COUNT, SUM, SUM_SQ]])
            window.paired.append(value)
        confusion = loss.record.raw.get(f"confusion/{loss.name.partition('/')[2]}")
        if confusion is not None:
            window.count_guesses(np.asarray(confusion, np.float64))

    def _evaluate(self, step: StepView, loss: TensorView, window: _Window) -> Findings:
        now = float(np.mean(window.losses))
        chance, z = self._guessing(loss, window)
        if not chance > 0:
            return
        self._evaluated = True
        first = self._first.of(loss.name, now)
        worse = now > self.worse_ratio * max(chance, first) and not z >= self.min_z
        guesses = not z >= self.min_z and now >= (1 - self.margin) * chance
        if worse or (guesses and self._may_guess(step, loss, window, now / chance)):
            of_what, agreement = "the mean of the targets", ""
            if not math.isnan(z):
                of_what = "classes by their frequency"
                agreement = "; guesses agree with the labels no more often than by chance"
            limit = (1 - self.margin) * chance
            reason = None if worse else self._circumstances.reason(list(window.losses)[-25:])
            found = self.finding(
                step,
                loss.name,
                f"{loss.name}: its mean over {self.num_steps} TRAIN steps up to step"
                f" {step.train_step}"
                f" is {number(now)}, guessing {of_what} costs {number(chance)}{agreement}"
                f"{'; ' + reason.sentence if reason else ''}",
                onset=window.first if window.best >= limit else None,
                value=now,
                threshold=self.worse_ratio * chance if worse else limit,
                condition="worse" if worse else "guessing",
                remedy="check the sign of the loss and the learning rate"
                if worse
                else reason.remedy
                if reason is not None and reason.cause != "data"
                else "check that each label belongs to its sample, that inputs reach the model, and"
                " the learning rate",
                evidence={
                    "guessing": chance,
                    "agreement_z": z,
                    **({"why": reason.cause} if reason else {}),
                },
            )
            if reason is None or reason.cause != "data":
                self._told.add(loss.name)
                yield found
            else:
                yield from self._waited(found, window)
        else:
            self._waiting.pop(loss.name, None)

    def _evaluate_end(self, name: str, window: _Window) -> Findings:
        """Judge whether targets that are not scaled were not reached before training ended."""
        about = self._circumstances.raw_targets.were_about
        if window.power is None or window.count <= self.num_steps or not window.moments:
            return
        is_told = name in self._told or name in self._weighted or self._circumstances.by_reward
        if is_told or math.isnan(about) or not self._is_alone(window):
            return
        variance = max(_variance(*np.sum(window.moments, axis=0)), 0.0)
        now, guessing = window.late_mean(), variance ** (window.power / 2)
        if now > guessing:
            yield self.finding(
                window.last,
                name,
                f"{name}: training ended at {number(now)}, above what guessing the mean of the"
                f" targets costs, {number(guessing)}; the targets are not scaled: they are"
                f" about {number(about)} on average, and a model begins at about 0",
                mode="TRAIN",
                onset=window.first,
                value=now,
                threshold=guessing,
                condition="guessing",
                remedy=SCALE_TARGETS,
                evidence={"why": "raw_targets"},
            )

    def _waited(self, found: Finding, window: _Window) -> Findings:
        """Yield a finding that nothing explains once it has lasted."""
        _, count = self._waiting.setdefault(found.tensor, (found, window.count))
        if window.count - count >= WAIT:
            self._told.add(found.tensor)
            yield found

    def _is_alone(self, window: _Window) -> bool:
        """Return whether other losses are too rare to play against this one."""
        return window.count > RARE * sum(other.count for other in self._windows.values())

    def _may_guess(self, step: StepView, loss: TensorView, window: _Window, ratio: float) -> bool:
        """Return whether a loss where guessing is means guessing."""
        if not self._rests(window):
            return False
        power = ERRORS.get(loss.info.function)
        if power is not None:
            share = window.share_of_guessing(power)
            return not _are_ends(window.moments) and share >= 1 - self.margin
        counted = all_counts(window.confusions).sum(1) if window.confusions else np.zeros(0)
        if counted.any() and window.learns(entropy(counted), entropy_variance(counted)):
            return False
        num_classes, is_one = _labels(step, loss)
        if num_classes <= 2:
            return is_one and not are_halves(window.confusions) and self._has_no_edge(loss, window)
        return is_one or ratio <= NEAR

    def _has_no_edge(self, loss: TensorView, window: _Window) -> bool:
        """Return whether so much was seen that an edge over chance would show."""
        if self._passes >= PASSES:
            return True
        if edge_bound(window.trained, window.trained.sum()) < EDGE:
            return True
        held_out = self._held_out.get(loss.name)
        if held_out is None or not held_out.confusions:
            return False
        evaluated = all_counts(held_out.confusions)
        return edge_bound(evaluated, evaluated.sum() / max(held_out.num_rounds, 1)) < EDGE

    def _rests(self, window: _Window) -> bool:
        half = len(window.losses) // 2
        before, now = np.mean(list(window.losses)[:half]), np.mean(list(window.losses)[half:])
        return bool(abs(now - before) <= self.rest * abs(before))

    def _guessing(self, loss: TensorView, window: _Window) -> tuple[float, float]:
        """Return the loss of guessing and how the guesses agree; nan for what is not known."""
        if (power := ERRORS.get(loss.info.function)) is not None:
            variance = max(_variance(*np.sum(window.moments, axis=0)), 0.0)
            return variance ** (power / 2), math.nan
        if not window.confusions:
            return math.nan, math.nan
        counted = all_counts(window.confusions)
        if counted.sum() < LEAST_PER_CLASS * len(counted):
            return math.nan, math.nan
        return estimated_entropy(counted.sum(1)), agreement_z(counted)


def _variance(count: float, total: float, squares: float) -> float:
    """Return the variance of numbers by how many they are, their sum and that of their squares."""
    return float(squares / count - (total / count) ** 2)


def _shares_of_unseen_classes(confusions: Sequence[Floats], window: _Window) -> Floats:
    """Return of each class the share among evaluated labels, 0 where training had any of it.

    All 0 where too few labels of the training were looked at, or few of the evaluated ones are of
    such classes.
    """
    if not confusions or window.num_looks < UNSEEN_LOOKS:
        return np.zeros(0)
    evaluated = all_counts(confusions).sum(1)
    known = np.zeros(max(len(evaluated), len(window.labels)))
    known[: len(window.labels)] = window.labels
    shares = np.where(known[: len(evaluated)] > 0, 0.0, evaluated) / evaluated.sum()
    least = max(UNSEEN, UNSEEN_LABELS / window.labels.sum())
    return shares if shares.sum() >= least else np.zeros(0)


def _squares_cost(seen: Floats, unseen: Floats) -> tuple[float, float]:
    """Return what the mean of some targets costs as a guess of others, as a mean square; and 0.

    Args:
        seen: Number, sum and sum of squares of the first,
        unseen: and of the others.
    """
    mean = seen[1] / seen[0]
    count, total, squares = unseen
    return float(squares / count - 2 * mean * total / count + mean**2), 0.0


def _shares_cost(seen: Floats, unseen: Floats) -> tuple[float, float]:
    """Return the same of a binary cross-entropy; and about what the best prediction costs.

    A target costs its entropy at best. By how much that is below the entropy of their mean *m* is,
    to second order, their variance over 2 m (1 - m); it is rather more.
    """
    mean, (count, total, squares) = seen[1] / seen[0], unseen
    if not 0 < mean < 1:
        return 0.0, 0.0
    share = total / count
    guessing = float(-share * math.log(mean) - (1 - share) * math.log(1 - mean))
    return guessing, guessing - _variance(count, total, squares) / (2 * mean * (1 - mean))


def _are_ends(moments: Sequence[Floats]) -> bool:
    """Return whether targets are 0 and 1, and each step has as many of one as of the other, or one.

    Args:
        moments: Number, sum and sum of squares of the targets of each step.
    """
    return all(total == squares and total / n in (0, 0.5, 1) for n, total, squares in moments)


def _evaluated_losses(step: StepView) -> list[TensorView]:
    """Return the scalar losses of a step of which it is known what guessing costs."""
    found = []
    if not any(len(one.layout.rows_of_any(("labels", "predictions"))) for one in step.records):
        return []  # as between full steps
    for loss in step.tensors("losses"):
        function = loss.info.function
        label, prediction = (of_same_loss(step, loss, kind) for kind in ("label", "prediction"))
        is_of_numbers = function in ERRORS and label is not None
        if is_of_numbers or (prediction is not None and function in _LIKELIHOODS):
            found.append(loss)
    return found


def _labels(step: StepView, loss: TensorView) -> tuple[int, bool]:
    """Return how many classes a loss is of, and whether each sample has one label."""
    label, prediction = (of_same_loss(step, loss, kind) for kind in ("label", "prediction"))
    batches = step.tensors("batches", worker=loss.worker)
    if label is None or prediction is None:
        return 0, False
    samples = sum(batch.info.shape[0] for batch in batches if batch.info.shape)
    shape = prediction.info.shape
    num_classes = shape[1] if len(shape) > 1 else 0
    return num_classes, bool(label.statistics.count <= samples)
