"""What else is known of a training whose loss does not fall: why that may be."""

from __future__ import annotations

import math
import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..judge.rule import Selection
from ..judge.step_view import StepView, TensorGroup
from ..model.record import Layout, StepRecord, TensorInfo
from ..numerics.measures import Floats, by_x, global_norm, listed, magnitude, number
from ..numerics.statistics import COUNT, SUM, SUM_SQ
from .history import Series
from .shared import (
    ELEMENTWISE,
    dependence_samples,
    is_trained,
    of_same_loss,
    prefixed,
    weighted_mean,
)

#: Below this fraction of their norm a step does not move the weights.
STILL = 3e-6
#: A learning rate is too high by which one of the first steps moves weights by this fraction.
EARLY_STEPS, EARLY_RATIO = 11, 0.1
#: A loss swings if from one step to the next it changes by this fraction of its median, and an
#: update is larger than this fraction of the weights.
SWING, LARGE_UPDATE = 0.3, 0.02
#: Predictions do not depend on the input if they scatter by less than this fraction of the targets.
FLAT = 0.02
#: A gradient fades if that of the first weights is so small a fraction of the largest.
FADES = 1e-3
#: Weights hardly moved if all steps together took them no farther than this fraction of their norm.
HARDLY = 0.03
#: Clipping leaves a step too small if it takes gradients to less than this part of their norm at
#: nearly every look, and such a step moves the weights by less than that part of their norm.
CLIPPED, NEARLY_ALL, CLIPPED_MOVES, CLIPPED_LOOKS = 0.1, 0.9, 3e-4, 10
#: A part of the parameters that is most of them.
MOST_IDLE = 0.5
#: Weights jumped if from one step to the next their norm grew by this factor, or from the first on
#: by the other.
JUMPED, SWELLED = 1.5, 3.0
#: Weights are nearly nothing below this part of the norm that is usual for their shapes: from there
#: any step is a jump, and says nothing of the learning rate unless it takes them to the usual norm.
NOTHING = 0.02
#: Updates do little but shrink weights if their norm falls by this part of an update's, and to this
#: part of what it was at first.
SHRINKS, SHRUNK = 0.5, 0.9
#: Weights begin large if for most of the matrices the root mean square, times the root of the
#: smaller side, is above this; it is about 1 for what He et al. and Glorot and Bengio draw.
LARGE_START = 4.0
#: A recurrent layer has forgotten a sequence if so much of what it sees last is padding.
FORGOTTEN = 0.5
#: Dropping this share of all units, and a penalty that is this share of the loss, is much.
DROPS, PENALIZES = 0.7, 0.8
#: Inputs are not scaled if their root mean square is above the first, and what the first layer
#: makes of them is above the second, and above their own divided by the first.
RAW, UNIT = 10.0, 3.0
#: What to do about it.
SCALE = (
    "give the model inputs that are scaled to mean 0 and standard deviation 1, each feature by its"
    " own, or begin with a normalization layer"
)
#: Targets are not scaled if their mean is above the first, and more than half of the way there is
#: left to what is predicted, by more than so many of their standard deviations.
FAR_TARGETS, TOO_SMALL = 10.0, 1.5
SCALE_TARGETS = (
    "scale the targets: subtract their mean, divide by their standard deviation, and turn what is"
    " predicted back; or begin with a last bias at their mean"
)
# With these reasons, inputs that are not scaled may be what is behind it.
_OF_INPUTS = frozenset({"overshot", "still", "large", "faded", "swings", "flat", "data"})
#: Of so many samples or more it is told whether those that are alike have one label: by chance,
#: below the first of so many standard deviations, and more often above the second.
LEAST_PAIRS, BY_CHANCE, TELLING = 40, 1.5, 5.0
#: Targets grew if the median of their root mean square over so many full steps did by this factor.
GROWN, GROWS_OVER, REMEMBERED = 1.1, 5, 200


@dataclass(frozen=True, slots=True)
class Reason:
    """What may be behind a loss that does not fall.

    Args:
        cause: A word for it.
        sentence: What was measured.
        remedy: What to do.
    """

    cause: str
    sentence: str
    remedy: str


class WeightHistory:
    """Remembers how large the trained weights of each worker began, and when they jumped."""

    def __init__(self) -> None:
        self._trained = Selection(("weights",), keep=is_trained)
        self._of: dict[str, _Weights] = defaultdict(_Weights)

    def add(self, step: StepView) -> None:
        """Add a TRAIN step, of whatever detail."""
        for trained, names in self._trained.groups(step):
            self._of[trained.record.worker].add(step, trained, names)

    def reason(self, worker: str) -> Reason | None:
        """Return that the weights were too large, from the first step on or after another."""
        return self._of[worker].reason()

    def shrink(self, worker: str, update: float) -> Reason | None:
        """Return that updates do little but make the weights smaller.

        Args:
            update: The norm of an update over that of the weights.
        """
        return self._of[worker].shrink(update)


class _Weights:
    """How large the weights of one worker are."""

    def __init__(self) -> None:
        self._norm = self._first = math.nan
        self._usual = 0.0
        self._jump: tuple[float, float, float, int] | None = None  # the norms, rate and step
        self._large: tuple[str, float, float] | None = None  # a matrix, its size, a usual one
        self._step, self._shrink = -1, 0.0  # the last one, and by which part it made them smaller
        self._names: tuple[str, ...] = ()

    def add(self, step: StepView, trained: TensorGroup, names: tuple[str, ...]) -> None:
        """Add the trained weights of one worker, of a step in which they were saved.

        Of those first, where the optimizers of several models step in turn: the norm of all is not
        that of some.
        """
        self._names = self._names or names
        if names != self._names:
            return
        record = trained.record
        before, self._norm = self._norm, global_norm(record.statistics[trained.rows])
        last, self._step = self._step, step.train_step
        if self._step == last + 1 and before > 0:
            self._shrink = 1 - self._norm / before
        if math.isnan(before):
            self._large, self._first = _large_matrix(trained), self._norm
            self._usual = math.sqrt(sum(max(one.shape) for one in _matrices(trained)))
            return
        nothing = NOTHING * self._usual
        jumped = self._norm > JUMPED * before > 0
        jumped &= before >= nothing or self._norm >= self._usual
        swelled = self._norm > SWELLED * self._first > 0 and self._first >= nothing
        if self._jump is None and (jumped or swelled):
            rates = record.statistics[record.layout.rows_of.get("learning_rates", []), SUM]
            rate = float(np.abs(rates).max(initial=0.0))
            self._jump = before if jumped else self._first, self._norm, rate, step.train_step

    def reason(self) -> Reason | None:
        """Return that the weights were too large, from the first step on or after another."""
        if self._large is not None:
            name, size, usual = self._large
            return Reason(
                "initialization",
                f"the weights begin large: the root mean square of {name} was {number(size)} at the"
                f" first step, where {number(usual)} is usual for its shape",
                "draw smaller first weights, as the layers do by themselves",
            )
        if self._jump is not None:
            before, after, rate, number_of_step = self._jump
            return Reason(
                "overshot",
                f"updates took the l2 norm of all weights from {number(before)} to {number(after)}"
                f" by step {number_of_step}, at a learning rate of {number(rate)}",
                "lower the learning rate a hundredfold",
            )
        return None

    def shrink(self, update: float) -> Reason | None:
        """Return that updates do little but make the weights smaller."""
        if not (self._shrink > SHRINKS * update > 0 and self._norm < SHRUNK * self._first):
            return None
        return Reason(
            "shrinks",
            f"updates do little but shrink the weights, by {number(100 * self._shrink)}% a step:"
            f" their l2 norm fell from {number(self._first)} to {number(self._norm)} by step"
            f" {self._step}",
            "lower the weight decay, 0.0001 to 0.1 is usual; see that arguments of the optimizer"
            " that are not named stand in its order",
        )


def _matrices(group: TensorGroup) -> list[TensorInfo]:
    return [info for info in group.infos if len(info.shape) >= 2 and 0 not in info.shape]


def _large_matrix(group: TensorGroup) -> tuple[str, float, float] | None:
    """Return the largest matrix if most of them are far too large: name, size and a usual size."""
    found = []
    for row, info in zip(group.rows.tolist(), group.infos, strict=True):
        count, squares = group.record.statistics[row, [COUNT, SUM_SQ]].tolist()
        if len(info.shape) >= 2 and count:
            usual = math.sqrt(max(info.shape) / count)
            found.append((math.sqrt(squares / count), usual, info.name))
    large = [one for one in found if one[0] > LARGE_START * one[1]]
    if not large or 2 * len(large) <= len(found):
        return None
    size, usual, name = max(large, key=lambda one: one[0] / one[1])
    return name, size, usual


# What optimizers keep whose steps are as long as the gradients are; those of Adam are not.
_PLAIN_STATES = ("momentum", "momentum_buffer", "step", "iteration", "learning_rate")


class ClippedGradients:
    """Remembers what clipping leaves of gradients, and whether the optimizer makes up for it."""

    def __init__(self) -> None:
        self._norms: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)  # before and after
        self._is_scaled = False

    def add(self, step: StepView, record: StepRecord) -> None:
        """Add a TRAIN step, as one of its workers has it."""
        before, after, most, left = (
            step.scalar(f"optimizer/{name}", record.worker)
            for name in (
                "gradient_norm_before_clipping",
                "gradient_norm_after_clipping",
                "max_norm",
                "clipped_to",
            )
        )
        known = [one for one in (after, left, min(before, most)) if math.isfinite(one)]
        if math.isfinite(before) and known:
            self._norms.append((before, known[0]))
        layout = record.layout
        for row in layout.rows_of.get("optimizer_states", ()):
            kept = layout.tensors[row].name.rpartition("/")[2]
            self._is_scaled |= kept not in _PLAIN_STATES

    def reason(self, update: float) -> Reason | None:
        """Return that clipping takes nearly all of each step, if so.

        Args:
            update: The norm of an update over that of the weights.
        """
        if self._is_scaled or len(self._norms) < CLIPPED_LOOKS or not update < CLIPPED_MOVES:
            return None
        before, after = np.array(self._norms).T
        is_cut = after < CLIPPED * before
        if is_cut.mean() < NEARLY_ALL:
            return None
        usual, left = float(np.median(before)), float(np.median(after))
        return Reason(
            "clipped",
            f"gradients are clipped from a norm of {number(usual)} to {number(left)}, by medians of"
            f" {len(before)} looks, so a step moves the weights by {number(update)} of their norm",
            f"clip to about {number(usual)}, the usual norm, so that only far larger gradients are"
            " clipped",
        )


# The weights by which a recurrent layer of PyTorch reads its own state.
_OF_STATE = re.compile(r"weight_hh_l\d+(_reverse)?$")


def first_step_only(gradients: TensorGroup) -> Reason | None:
    """Return that recurrent layers are read where they have seen one step, if that is so.

    Args:
        gradients: Those that vanish: of no other weights than those by which layers read their
            state, and exactly 0. The cause of what is read backward is ``"last_step"``: people take
            ``out[:, -1]`` of both directions, and the other one makes up for it.
    """
    found = [_OF_STATE.search(one.name) for one in gradients]
    if not all(found) or any(one.statistics.sum_abs for one in gradients):
        return None
    if all(one and one[1] for one in found):
        return Reason(
            "last_step",
            "what is read of the reverse direction has seen only the last step, as out[:, -1] has",
            "take the state h_n of both directions, or out[:, 0] of the reverse one",
        )
    return Reason(
        "first_step",
        "what is read has seen only the first step, as out[:, 0] has: the others do not reach the"
        " loss",
        "take the last step, out[:, -1] with batch_first=True and out[-1] without, or h_n",
    )


# Before a recurrent layer that returns its state after padding, of the share of that.
_PADDED = "setup/padded_last/"


class PaddedSequences:
    """Remembers which recurrent layer returns its last state of sequences padded at their end."""

    def __init__(self) -> None:
        self._layer, self._share = "", 0.0

    def add(self, step: StepView) -> None:
        """Add a TRAIN step."""
        for group in prefixed(step, "setup", _PADDED):
            self._layer, self._share = group[0].name.removeprefix(_PADDED), group[0].scalar

    def reason(self) -> Reason | None:
        """Return that most of what the layer sees last is padding, if so."""
        if self._share <= FORGOTTEN:
            return None
        return Reason(
            "padding",
            f"sequences are padded at their end, and {self._layer} returns its last state without a"
            f" mask: it sees nothing but padding for the last {number(100 * self._share)}% of its"
            " steps, in the median sequence",
            "mask the padding: Embedding(..., mask_zero=True) or a Masking layer in Keras,"
            " pack_padded_sequence in PyTorch; or pad sequences at their beginning",
        )


class RawInputs:
    """Remembers whether a model began with inputs that nobody scaled, nor a layer of its own.

    What the first layer with a matrix makes of them at the first step is as large then.
    """

    def __init__(self) -> None:
        self._is_known = False
        self._size = math.nan

    def add(self, step: StepView, record: StepRecord) -> None:
        """Add a step of a worker; the first that shows inputs and outputs counts."""
        rows = record.layout.rows_of
        if self._is_known or "batches" not in rows or "outputs" not in rows:
            return
        self._is_known = True
        sizes = [one.statistics.rms for one in step.tensors("batches", worker=record.worker)]
        made = _first_output(step, record)
        size = max((one for one in sizes if math.isfinite(one)), default=0.0)
        if size > RAW and made > max(UNIT, size / RAW):
            self._size = size

    @property
    def sentence(self) -> str:
        """That inputs are not scaled; empty if they are, or that is not known."""
        if math.isnan(self._size):
            return ""
        return f"the inputs are not scaled, with a root mean square of {number(self._size)}"

    def remedy(self, remedy: str) -> str:
        """Return what to do: to scale inputs first, if they are not."""
        return f"{SCALE}; then {remedy}" if self.sentence else remedy


class RawTargets:
    """Remembers whether targets are so large that a model must first grow to them.

    A new model predicts about 0; steps of an optimizer that takes them all alike, as Adam does, are
    as small for large targets as for small ones.
    """

    def __init__(self) -> None:
        self._means = math.nan, math.nan
        #: Where they were, what the targets were about on average when that was so last.
        self.were_about = math.nan

    def add(self, step: StepView, record: StepRecord) -> None:
        """Add a step of a worker."""
        for prediction in step.tensors("predictions", worker=record.worker):
            label = of_same_loss(step, prediction, "label")
            if label is None or prediction.info.function not in ELEMENTWISE:
                continue
            ours, theirs = prediction.statistics, label.statistics
            size = abs(theirs.mean)
            left = size - math.copysign(1, theirs.mean) * ours.mean  # of the way from 0
            is_far = size > FAR_TARGETS and size / 2 < left < 2 * size
            # What has not left the unit may be unable to, as after a sigmoid.
            is_far &= left > TOO_SMALL * theirs.std and abs(ours.mean) > 1
            self._means = (ours.mean, theirs.mean) if is_far else (math.nan, math.nan)
            self.were_about = theirs.mean if is_far else self.were_about

    @property
    def reason(self) -> Reason | None:
        ours, theirs = self._means
        if math.isnan(theirs):
            return None
        return Reason(
            "raw_targets",
            f"the targets are not scaled: they are about {number(theirs)} on average, and what is"
            f" predicted has come to {number(ours)}",
            SCALE_TARGETS,
        )


def _first_output(step: StepView, record: StepRecord) -> float:
    """Return the root mean square of what the first layer with a matrix returned; 0 if unknown."""
    for row in record.layout.rows_of.get("weights", ()):
        info = record.layout.tensors[row]
        if len(info.shape) > 1:
            for end in ".", "/":  # PyTorch and Keras put these before the name of a parameter
                layer, _, _ = info.name.rpartition(end)
                made = step.tensor(f"output/{layer}", record.worker)
                if layer and made is not None:
                    return made.statistics.rms
            return 0.0
    return 0.0


_OBSERVED = frozenset({"weights", "labels", "gradients"})


# Elements of weights that are all rounding are no larger, in root mean square.
_NOTHING = 1e-6


class FirstUpdates:
    """How far the first steps moved the weights, in the mean over all elements.

    A weight that was 0 at first, or next to it, as a mean of what was centred, is moved by all that
    there is of it, and is not counted.
    """

    def __init__(self) -> None:
        self._num_steps = 0
        self._blank: set[str] = set()
        #: The largest update so far, as a fraction of the norm of what it moved.
        self.largest = 0.0

    @property
    def are_large(self) -> bool:
        """Whether one moved the weights by more than ``EARLY_RATIO`` of their norm."""
        return self.largest > EARLY_RATIO

    def add(self, step: StepView) -> None:
        """Add a TRAIN step that was observed in full; those after ``EARLY_STEPS`` do not count."""
        self._num_steps += 1
        if self._num_steps > EARLY_STEPS:
            return
        if self._num_steps == 1:
            self._blank = {
                tensor.name
                for group in step.groups("weights")
                for tensor in group.where(group.quantity("rms") <= _NOTHING)
            }
        for group in step.groups("updates"):
            counts = [
                name.startswith(RATIO) and name.removeprefix(RATIO) not in self._blank
                for name in group.names
            ]
            ratio = weighted_mean(group.where(np.array(counts))) if any(counts) else math.nan
            self.largest = max(self.largest, 0.0 if math.isnan(ratio) else ratio)
            return


class Circumstances:
    """Remembers the first and the last step that was observed in full."""

    def __init__(self) -> None:
        self._weights, self._clipped = WeightHistory(), ClippedGradients()
        self._first_gradient = math.nan
        self._padded = PaddedSequences()
        self._inputs, self.raw_targets = RawInputs(), RawTargets()
        self._last: StepRecord | None = None
        self._update = self._dropout = self._penalty = math.nan
        self._num_steps, self._first_updates = 0, FirstUpdates()
        # How many samples had the label of the nearest other one, of how many, and by chance.
        self._pairs = np.zeros(3)
        #: Whether a loss is one of a policy or of the values of actions: it need not fall.
        self.by_reward = False
        # The root mean square of the targets of each loss, at the last full steps.
        self._targets: Series[str, tuple[int, float]] = Series(REMEMBERED)

    def add(self, step: StepView) -> None:
        """Add a step, of whatever detail."""
        if not step.trains:
            return
        self._num_steps += 1
        record = step.records[0]
        if _OBSERVED.isdisjoint(record.layout.rows_of):
            return  # as between full steps
        self._weights.add(step)
        for label in step.tensors("labels", worker=record.worker):
            name = f"loss/{label.name.partition('/')[2]}"
            self._targets.add(name, (step.number, label.statistics.rms))
        rows = record.layout.rows_of
        self.by_reward |= "policy" in rows
        self._clipped.add(step, record)
        self._padded.add(step)
        self._inputs.add(step, record)
        self.raw_targets.add(step, record)
        if "dependence" in rows:
            for _, sample in dependence_samples(step):
                self._pairs += np.nan_to_num([sample.alike, sample.paired, sample.by_chance])
        if "gradients" not in rows:
            return
        self._dropout = step.scalar("loop/dropout", record.worker)
        losses = step.tensors("losses", worker=record.worker)
        largest = max((abs(one.scalar) for one in losses), default=math.nan)
        self._penalty = step.scalar("loop/penalty", record.worker) / largest if largest else 0.0
        if math.isnan(self._first_gradient):
            self._first_gradient = global_norm(record.statistics[rows["gradients"]])
        self._last = record
        update = update_size(step, record)
        self._update = self._update if math.isnan(update) else update
        self._first_updates.add(step)

    @property
    def large_steps(self) -> str:
        """Say that the first steps were too large, ``""`` if they were not."""
        if not self._first_updates.are_large:
            return ""
        return (
            f"the learning rate is too high: one of the first {EARLY_STEPS} steps moved the weights"
            f" by {self._first_updates.largest:.0%} of their norm, where 0.1% is usual"
        )

    def targets_grew(self, loss: str, since: int) -> bool:
        """Return whether the targets of a loss grew, so that it may: as returns of a policy do.

        Args:
            loss: Its name.
            since: The step from which on.
        """
        sizes = self._targets.get(loss, ())
        before = [size for step, size in sizes if step <= since][-GROWS_OVER:]
        now = [size for _, size in sizes][-GROWS_OVER:]
        return bool(before) and float(np.median(now)) > GROWN * float(np.median(before))

    def reason(self, losses: Sequence[float]) -> Reason | None:
        """Return what is most likely behind a loss that does not fall.

        Args:
            losses: The last ones, in order.
        """
        reason = self._reason(losses)
        if reason is None or reason.cause not in _OF_INPUTS or not self._inputs.sentence:
            return reason
        sentence = f"{self._inputs.sentence}; {reason.sentence}"
        return Reason(reason.cause, sentence, self._inputs.remedy(reason.remedy))

    def _reason(self, losses: Sequence[float]) -> Reason | None:
        if self._last is None:
            return None
        gradient = global_norm(self._last.statistics[self._last.layout.rows_of["gradients"]])
        update = self._update
        moves = f"a step moves the weights by {number(update)} of their norm"
        raw_targets = self.raw_targets.reason
        if raw_targets is not None:
            return raw_targets
        too_large = self._weights.reason(self._last.worker)
        if too_large is not None:
            return too_large
        if self._penalty > PENALIZES:
            return Reason(
                "penalty",
                f"{number(100 * self._penalty)}% of the loss is the penalty on weights",
                "make the penalty a hundred times smaller",
            )
        shrinks = self._weights.shrink(self._last.worker, update)
        if shrinks is not None:
            return shrinks
        if self._dropout > DROPS:
            return Reason(
                "dropped",
                f"dropout drops {number(100 * self._dropout)}% of what it is given",
                "drop 10% to 50%; the argument is the share that is dropped, not the one kept",
            )
        clipped = self._clipped.reason(update)
        if clipped is not None:
            return clipped
        if update < STILL:
            return Reason(
                "still",
                f"the weights do not move: {moves}, the gradient norm is {number(gradient)}",
                "raise the learning rate tenfold until the loss moves"
                if gradient > 0
                else "see why no gradient arrives",
            )
        padded = self._padded.reason()
        if padded is not None:
            return padded
        if gradient < 1e-3 * self._first_gradient:
            return Reason(
                "faded",
                f"the gradient norm fell from {number(self._first_gradient)} to"
                f" {number(gradient)}: what the loss depends on no longer changes",
                "look for units that died and activations at their ends; lower the learning rate",
            )
        untrained = _untrained(self._last)
        if untrained is not None:
            return untrained
        fades = _fades(self._last)
        if fades:
            return Reason(
                "fades",
                fades,
                "use activations that do not saturate, residual connections or normalization, or"
                " another initialization",
            )
        swing = _swing(losses)
        if swing > SWING and update > LARGE_UPDATE:
            return Reason(
                "swings",
                f"it changes by {number(100 * swing)}% from step to step, and {moves}",
                "lower the learning rate tenfold",
            )
        if self.large_steps:
            return Reason("large", self.large_steps, "lower the learning rate tenfold, or more")
        flat = _flat(self._last)
        if flat:
            return Reason(
                "flat",
                flat,
                "see whether inputs reach the last layer: their scale, dead units, a rate that is"
                " too high; a model that sees nothing in its inputs gives the mean",
            )
        if 0 < update * self._num_steps < HARDLY:
            return Reason(
                "slow",
                f"{moves}, all {self._num_steps} together by at most"
                f" {number(100 * update * self._num_steps)}%",
                "raise the learning rate tenfold until the loss moves",
            )
        if update > 0 and gradient > 0:
            pairing = self.pairing()
            return Reason(
                "data",
                f"the weights move, by {number(update)} of their norm a step, and gradients arrive,"
                f" with a norm of {number(gradient)}{pairing.sentence}",
                pairing.remedy,
            )
        return None

    def pairing(self) -> Reason:
        """Return whether labels belong to their samples, as far as that shows.

        The cause is ``apart`` or ``paired``; and ``data``, without a sentence, if it does not.
        """
        alike, pairs, by_chance = self._pairs.tolist()
        scatter = math.sqrt(by_chance * (1 - by_chance / pairs)) if pairs >= LEAST_PAIRS else 0.0
        z = (alike - by_chance) / scatter if scatter else math.nan
        counted = f"{number(alike)} of {number(pairs)}, {number(by_chance)} by chance"
        if z < BY_CHANCE:
            return Reason(
                "apart",
                "; samples that are most like each other have one label no more often than by"
                f" chance, as where labels do not belong to their samples ({counted})",
                "see that samples and labels are shuffled, sorted, filtered and split together, and"
                " that both are read in one order",
            )
        others = "then try a learning rate ten times lower, and ten times higher"
        if z > TELLING:
            return Reason(
                "paired",
                "; labels do belong to their samples, as those that are most like each other have"
                f" one ({counted})",
                f"look at the model, and at what the loss is given; {others}",
            )
        check = "check that each label belongs to its input, and what the loss is given"
        return Reason("data", "", f"{check}; {others}")


def _untrained(record: StepRecord) -> Reason | None:
    """Return that most of a model is not trained, if so."""
    rows = record.layout.rows_of.get("weights", ())
    infos = [record.layout.tensors[row] for row in rows]
    has_optimizer = any(one.optimizer_groups for one in infos)  # else a script updates them itself
    idle = [
        one
        for one in infos
        if one.trainable is False or (has_optimizer and one.optimizer_groups == 0)
    ]
    size = sum(math.prod(one.shape) for one in infos)
    share = sum(math.prod(one.shape) for one in idle) / size if size else 0.0
    if share < MOST_IDLE:
        return None
    return Reason(
        "untrained",
        f"{number(100 * share)}% of all elements of parameters are not trained, as they are frozen"
        f" or in no optimizer: {listed(one.name for one in idle)}",
        "give the optimizer all parameters; what is frozen must have been trained before, so see"
        " that its weights were loaded",
    )


#: Batches are alike if so many looks in a row show the same, and targets changed in number by this.
ALIKE, MORE_TARGETS = 3, 1.5


class Stages:
    """Notices that a training goes on with batches of another kind: longer, or with more targets.

    Shapes count without the first axis, the number of samples. Batches that differ anyhow, as
    those that are padded to their longest, tell nothing.
    """

    def __init__(self) -> None:
        self._shapes: deque[tuple[tuple[str, tuple[int, ...]], ...]] = deque(maxlen=ALIKE)
        self._seen: set[tuple[tuple[str, tuple[int, ...]], ...]] = set()
        self._targets: Series[str, float] = Series(ALIKE)

    @property
    def are_alike(self) -> bool:
        """Whether the last batches were, so that another one would be noticed."""
        return len(self._shapes) == ALIKE and len(set(self._shapes)) == 1

    def news(self, step: StepView) -> str | None:
        """Add a TRAIN step; return what is new of its batches.

        Returns:
            Empty for nothing, ``None`` where the step does not show them, as between full steps.
        """
        record = step.records[0]
        if "batches" not in record.layout.rows_of:
            return None
        batches = [one.info for one in step.tensors("batches", worker=record.worker)]
        shapes = tuple((info.name, info.shape) for info in batches if info.shape)
        inner = tuple((name, shape[1:]) for name, shape in shapes)
        found = self._other_targets(record)
        if self.are_alike and inner not in self._seen:
            before = dict(self._shapes[-1])
            name, shape = next((one for one in inner if one[1] != before.get(one[0])), inner[0])
            was = f"{by_x(before[name])}, now {by_x(shape)}" if name in before else "not there"
            found = f"the shape of each sample of {name} was {was}"
        self._shapes.append(inner)
        self._seen.add(inner)
        return found

    def _other_targets(self, record: StepRecord) -> str:
        found = ""
        for name, counts in record.raw.items():
            if not name.startswith("class_count/"):
                continue
            count, before = float(counts.sum()), list(self._targets.get(name, ()))
            usual = float(np.median(before)) if len(before) == ALIKE else 0.0
            alike = usual > 0 and max(before) < MORE_TARGETS * min(before)
            if alike and not usual / MORE_TARGETS < count < usual * MORE_TARGETS:
                loss = name.partition("/")[2]
                found = f"{number(count)} targets of {loss} count, {number(usual)} before"
            self._targets.add(name, count)
        return found


def update_size(step: StepView, record: StepRecord) -> float:
    """Return the norm of an update over the norm of what it changed; nan if not measured.

    It is computed once for all rules that need it.

    Args:
        step: The step.
        record: One of its records.
    """
    key = f"update size of {record.worker}"
    known: float | None = step.computed.get(key)
    if known is None:
        known = step.computed[key] = _update_size(record)
    return known


def _update_size(record: StepRecord) -> float:
    layout = record.layout
    rows, weights = _updates(layout)
    if not rows:
        return math.nan
    norms = np.sqrt(record.statistics[weights, SUM_SQ])
    moved = float(np.linalg.norm(record.statistics[rows, SUM] * norms))
    size = float(np.linalg.norm(norms))
    return moved / size if size else math.nan


RATIO = "update_ratio/"


def _updates(layout: Layout) -> tuple[list[int], list[int]]:
    """Return the rows of the ratios of updates, and those of their weights."""
    rows = [
        int(row)
        for row in layout.rows_of.get("updates", ())
        if layout.tensors[row].name.startswith(RATIO)
    ]
    weights = [layout.row_of.get(layout.tensors[row].name.removeprefix(RATIO), -1) for row in rows]
    return ([], []) if min(weights, default=-1) < 0 else (rows, weights)


def _fades(record: StepRecord) -> str:
    """Return that gradients fade on their way back to the first weights, ``""`` if not."""
    layout = record.layout
    rows = [
        row for row in layout.rows_of["gradients"].tolist() if len(layout.tensors[row].shape) > 1
    ]
    sizes = magnitude(record.statistics[rows]) if rows else np.zeros(0)
    if len(sizes) < 3 or not sizes[0] < FADES * np.nanmax(sizes):
        return ""
    names = [layout.tensors[row].name for row in (rows[0], rows[int(np.nanargmax(sizes))])]
    return (
        f"the gradient fades on its way back, from a mean of {number(float(np.nanmax(sizes)))} in"
        f" {names[1]} to {number(float(sizes[0]))} in {names[0]}"
    )


def _swing(losses: Sequence[float]) -> float:
    """Return the median change from one loss to the next, as a fraction of the median."""
    values = np.asarray(losses, np.float64)
    middle = abs(float(np.median(values))) if len(values) > 2 else 0.0
    return float(np.median(np.abs(np.diff(values)))) / middle if middle else 0.0


def _flat(record: StepRecord) -> str:
    """Return that predictions are the same whatever the input is, ``""`` if they are not."""
    layout = record.layout
    for row in layout.rows_of.get("predictions", ()):
        name = layout.tensors[row].name
        label = layout.row_of.get(f"label/{name.partition('/')[2]}")
        ours = _spread(record.statistics[row])
        theirs = _spread(record.statistics[label]) if label is not None else math.nan
        if layout.tensors[row].function == "mse_loss" and ours < FLAT * theirs:
            return (
                f"{name} scatters by {number(ours)} where the targets do by {number(theirs)}: the"
                " predictions are about the same for every input"
            )
    return ""


def _spread(row: Floats) -> float:
    count = row[COUNT]
    mean = row[SUM] / count if count else math.nan
    return math.sqrt(max(0.0, row[SUM_SQ] / count - mean**2)) if count else math.nan
