"""Losses that were computed: by which function, and of which prediction and label.

The rules know losses by the functions of ``torch.nn.functional``, whose classes lie on the second
axis, so what another library's loss was given is arranged as those take it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numerics.measures import Floats

#: Of so many samples predictions are compared, and so many elements of each; of fewer they are not.
MOST_COMPARED, MOST_COMPARED_ELEMENTS, LEAST_COMPARED = 64, 256, 8
#: A cross-entropy over classes that takes probabilities, and no logits.
OF_PROBABILITIES = "cross_entropy_of_probabilities"
CROSS_ENTROPY = "cross_entropy"
BINARY, BINARY_LOGITS = "binary_cross_entropy", "binary_cross_entropy_with_logits"
#: A divergence of distributions that takes the logarithms of predicted probabilities.
OF_LOGARITHMS = "kl_div"
#: What Keras calls its loss of counts: it takes what is expected, and no logarithm of that.
OF_EXPECTED = "poisson"
#: Above what a prediction of a loss of two classes stands for the class 1.
THRESHOLDS = {BINARY: 0.5, BINARY_LOGITS: 0.0}

# Losses of numbers.
_OF_NUMBERS = ("mse_loss", "l1_loss", "huber_loss")
#: Losses that compare each element of a prediction with its own of the label.
_ELEMENTWISE = (*_OF_NUMBERS, *THRESHOLDS)

Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a tensor is arranged for a loss.

    Args:
        ranks: How many axes of one element are added behind the last; -1 takes the last away.
        class_axis: The axis of the classes, which becomes the second; ``None`` for none.
    """

    ranks: int = 0
    class_axis: int | None = None

    def shape(self, shape: Shape) -> Shape:
        """Return the shape of what is arranged, of the shape that it has; ``None`` is unknown."""
        if self.ranks:
            return shape[:-1] if self.ranks < 0 else (*shape, 1)
        if self.class_axis is None:
            return shape
        rest = [size for axis, size in enumerate(shape) if axis != self.class_axis]
        return rest[0], shape[self.class_axis], *rest[1:]

    def value(self, value: Any) -> Any:
        """Return an array of NumPy or JAX, or a tensor of PyTorch, as it is arranged."""
        if self.ranks:
            return value[..., 0] if self.ranks < 0 else value[..., None]
        if self.class_axis is None:
            return value
        if hasattr(value, "movedim"):
            return value.movedim(self.class_axis, 1)
        rest = [axis for axis in range(1, value.ndim) if axis != self.class_axis]
        return value.transpose(0, self.class_axis, *rest)


AS_IT_IS = Arrangement()


@dataclass(frozen=True, slots=True)
class LossCall:
    """A loss that was computed of one prediction.

    Args:
        function: What it takes: the loss function, by the name that rules know it by.
        prediction: Of what it was computed,
        label: and the target of that.
        arranged: How the prediction is arranged,
        label_arranged: and the target.
        ignore_class: The class of which nothing is asked.
    """

    function: str
    prediction: Any
    label: Any
    arranged: Arrangement = AS_IT_IS
    label_arranged: Arrangement = AS_IT_IS
    ignore_class: int | None = None

    @property
    def computed_by(self) -> str:
        """The loss function, whatever it takes: a cross-entropy is one of probabilities, too."""
        return CROSS_ENTROPY if self.function == OF_PROBABILITIES else self.function

    @property
    def given(self) -> tuple[tuple[str, str, Any, Arrangement], ...]:
        """What it was given: how it is named, its collection, the value, and how it is arranged."""
        return (
            ("prediction", "predictions", self.prediction, self.arranged),
            ("label", "labels", self.label, self.label_arranged),
        )


Array = npt.NDArray[np.generic]


def of_classes(
    function: str, prediction: Any, label: Any, axis: int = -1, ignored: int | None = None
) -> LossCall:
    """Return a cross-entropy of many classes.

    Args:
        function: ``CROSS_ENTROPY`` or ``OF_PROBABILITIES``.
        prediction: Of each class, on ``axis``.
        label: Classes, perhaps with a last axis of one element more, or of the shape of the
            prediction.
        axis: That of the classes.
        ignored: The class of which nothing is asked.
    """
    shape, of_label = (tuple(getattr(each, "shape", ())) for each in (prediction, label))
    classes = axis % max(len(shape), 1)
    moved = Arrangement(class_axis=classes) if len(shape) > 2 and classes != 1 else AS_IT_IS
    is_dense = len(of_label) == len(shape) and of_label[-1:] != (1,)
    flat = Arrangement(ranks=-1) if len(of_label) == len(shape) and not is_dense else AS_IT_IS
    return LossCall(function, prediction, label, moved, moved if is_dense else flat, ignored)


def relative_spread(call: LossCall, prediction: Array, label: Array) -> float | None:
    """Return how much predictions differ from sample to sample, relative to their labels.

    Args:
        call: Of which loss.
        prediction: Shape ``[samples, ...]``.
        label: Of the same shape, and of floating dtype.

    Returns:
        The ratio of standard deviations over samples, each the root of the mean variance over
        elements: 0 for predictions that are all alike, near 1 for good ones. ``None`` for fewer
        than ``LEAST_COMPARED`` samples or elements of each, for labels that do not differ, and for
        losses that compare no elements.
    """
    # One of the script's own, without a name, compares what has the same shape.
    may_compare = not call.function or call.function in _ELEMENTWISE
    is_known = may_compare and prediction.shape == label.shape
    if not is_known or prediction.ndim < 2 or not np.issubdtype(label.dtype, np.floating):
        return None
    size = math.prod(prediction.shape[1:])
    if min(len(prediction), size) < LEAST_COMPARED:
        return None
    every = -(-size // MOST_COMPARED_ELEMENTS)
    guessed, meant = (
        one[:MOST_COMPARED].reshape(-1, size)[:, ::every].astype(np.float64)
        for one in (prediction, label)
    )
    if call.function == BINARY_LOGITS:
        guessed = (1 + np.tanh(guessed / 2)) / 2
    variances = [float(one.var(0).mean()) for one in (guessed, meant)]
    return math.sqrt(variances[0] / variances[1]) if variances[1] > 0 else None


Counts = npt.NDArray[np.int64]
#: Of more classes nothing is counted; of more than the second only the labels are.
MOST_CLASSES, MOST_CONFUSED = 1000, 100


def confusion(call: LossCall, prediction: Array, label: Array) -> Counts | None:
    """Return how often each class was meant, and what it was taken for.

    Args:
        call: Of which loss.
        prediction: Shape ``[rows, classes, ...]``, or any shape for a loss of two classes.
        label: Classes, shape ``[rows, ...]``, or rows of which one element is larger and the
            others are alike, of the shape of ``prediction``; what is neither is left out.

    Returns:
        int64, shape ``[classes, classes]``, the class that was meant first; ``[classes]``, without
        guesses, of more than ``MOST_CONFUSED``; ``None`` for a loss without classes, for one
        class, and for more than ``MOST_CLASSES``.
    """
    threshold = THRESHOLDS.get(call.function)
    if threshold is not None:
        if prediction.shape != label.shape:
            return None
        is_class = (label == 0) | (label == 1)
        return _counted(label[is_class], (prediction.astype(np.float32) > threshold)[is_class], 2)
    if call.function not in (OF_PROBABILITIES, CROSS_ENTROPY) or prediction.ndim < 2:
        return None
    num_classes = prediction.shape[1]
    if not 1 < num_classes <= MOST_CLASSES:
        return None
    meant = label_classes(label, prediction.shape)
    if meant is None:
        return None
    is_class = (meant >= 0) & (meant < num_classes)
    if call.ignore_class is not None:
        is_class &= meant != call.ignore_class
    if num_classes > MOST_CONFUSED:
        return np.bincount(meant[is_class], minlength=num_classes)
    return _counted(meant[is_class], prediction.argmax(1)[is_class], num_classes)


# Of so few numbers for each sample a label is told by that of a sample like it.
_MOST_NUMBERS = 16


def labels_and_predictions(
    function: str, prediction: Array, label: Array
) -> tuple[Array, Array] | None:
    """Return the label of each sample, and what is predicted of it.

    Args:
        function: The loss, by the name that rules know it by.
        prediction: As it takes it,
        label: and the same of the label.

    Returns:
        Classes as integers, shape ``[samples]``, or numbers, shape ``[samples, numbers]``; ``None``
        for what has more labels than samples, and for any other loss.
    """
    number = len(label) if label.ndim else 0
    if not number or not prediction.ndim or len(prediction) != number:
        return None
    if (threshold := THRESHOLDS.get(function)) is not None:
        if not prediction.size == label.size == number or not ((label == 0) | (label == 1)).all():
            return None
        guessed = prediction.reshape(-1).astype(np.float32) > threshold
        return label.reshape(-1).astype(np.int64), guessed.astype(np.int64)
    if function in (OF_PROBABILITIES, CROSS_ENTROPY, "nll_loss") and prediction.ndim == 2:
        meant = label_classes(label, prediction.shape)
        if meant is None or meant.shape != (number,) or (meant < 0).any():
            return None
        return meant, prediction.argmax(1)
    are_alike = prediction.shape == label.shape and label.size <= _MOST_NUMBERS * number
    if function in (*_OF_NUMBERS, "smooth_l1_loss") and are_alike:
        return label.reshape(number, -1), prediction.reshape(number, -1)
    return None


# What shares of a row of labels may differ by, and be the same.
_SHARE = 1e-4


def label_classes(label: Array, shape: tuple[int, ...]) -> Counts | None:
    """Return the classes that labels stand for, -1 for what stands for none.

    Rows of shares stand for a class if all others have the same share, as smoothed labels do.
    """
    if label.shape == shape:
        least = label.min(1, keepdims=True)
        is_one = (label - least > _SHARE).sum(1) == 1
        is_one &= (abs(label.sum(1) - 1) < _SHARE) & (least[:, 0] >= 0)
        found: Counts = np.where(is_one, label.argmax(1), -1)
        return found
    if label.shape != (shape[0], *shape[2:]):
        return None
    # Keras takes floats for classes, too, and cuts off what is behind the point.
    values = label.astype(np.float64)
    whole: Counts = np.where(np.isfinite(values), np.trunc(values), -1).astype(np.int64)
    return whole


def _counted(meant: Array, guess: Array, num_classes: int) -> Counts:
    index = meant.astype(np.int64) * num_classes + guess.astype(np.int64)
    counts: Counts = np.bincount(index, minlength=num_classes**2)
    return counts.reshape(num_classes, num_classes)


#: Of more samples pairs are not compared.
MOST_PAIRED = 2048
# What written losses make of the differences of predictions and targets.
_OF_DIFFERENCES: tuple[Callable[[Floats], float], ...] = (
    lambda found: float(np.mean(found**2)),
    lambda found: float(np.mean(found**2)) / 2,
    lambda found: float(np.sqrt(np.mean(found**2))),
    lambda found: float(np.mean(abs(found))),
    lambda found: float(np.mean(np.log(np.cosh(np.clip(found, -300, 300))))),
    lambda found: float(np.mean(np.where(abs(found) < 1, found**2 / 2, abs(found) - 0.5))),
)
# A loss in 32 bits is one of these within this fraction, and another if it is farther off.
_SAME, _OTHER = 1e-4, 1e-2


def compared_targets(prediction: Array, label: Array, loss: float) -> float:
    """Return with how many targets a loss of the script's own compares each prediction.

    Predictions of shape ``(n, 1)`` and targets of shape ``(n,)`` are broadcast against each other.
    That is known where the loss is a mean of all pairs, and not of the ``n`` that belong together.

    Args:
        prediction: As the loss was given it,
        label: and the target.
        loss: What it returned.

    Returns:
        nan where that is not known, and where both have one shape.

    Example:
        >>> prediction, label = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
        >>> compared_targets(prediction, label, 12 / 9), compared_targets(prediction, label, 0.0)
        (3.0, 1.0)
    """
    shapes, number = {prediction.shape, label.shape}, prediction.size
    if shapes != {(number,), (number, 1)} or not 1 < number <= MOST_PAIRED:
        return math.nan
    x, y = prediction.reshape(-1).astype(np.float64), label.reshape(-1).astype(np.float64)
    own, pairs = x - y, x[:, None] - y
    for function in _OF_DIFFERENCES:
        of_own, of_pairs = function(own), function(pairs)
        if math.isclose(loss, of_own, rel_tol=_SAME, abs_tol=1e-9):
            return 1.0
        differ = not math.isclose(of_own, of_pairs, rel_tol=_OTHER)
        if differ and math.isclose(loss, of_pairs, rel_tol=_SAME):
            return float(number)
    return math.nan


def mean_loss(call: LossCall, prediction: Array, label: Array) -> float:
    """Return the mean of a loss over all that it compares; nan where that is not known here.

    Args:
        call: Of which loss: a cross-entropy of logits, or ``mse_loss``.
        prediction: Arranged as the loss takes it,
        label: and the same of the target.
    """
    x, y = prediction.astype(np.float64), label.astype(np.float64)
    if not x.size or not y.size:
        return math.nan
    if call.function == CROSS_ENTROPY and x.ndim > 1:
        meant = label_classes(label, prediction.shape)
        if meant is None or meant.min() < 0 or meant.max() >= x.shape[1]:
            return math.nan
        x = x - x.max(1, keepdims=True)
        given = np.take_along_axis(x, meant[:, None], 1)[:, 0]
        return float(np.mean(np.log(np.exp(x).sum(1)) - given))
    if x.shape != y.shape:
        return math.nan
    if call.function == BINARY_LOGITS:
        return float(np.mean(np.logaddexp(0, x) - x * y))
    return float(np.mean((x - y) ** 2)) if call.function == "mse_loss" else math.nan


#: Of the logits of a call at most so many rows are read for ``log_partition``.
MOST_ROWS = 1024


def log_partition(logits: Array) -> float:
    """Return the mean over rows of ``log(sum(exp(logits)))``, over the classes, in nats.

    Args:
        logits: Shape ``[rows, classes, ...]``, not empty; of at most ``MOST_ROWS`` rows.
    """
    rows = np.moveaxis(logits, 1, -1).reshape(-1, logits.shape[1])
    rows = rows[:: -(-len(rows) // MOST_ROWS)].astype(np.float64)
    largest = rows.max(1, keepdims=True)
    return float(np.mean(np.log(np.exp(rows - largest).sum(1)) + largest[:, 0]))
