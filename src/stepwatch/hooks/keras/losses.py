"""Which function computes a loss of Keras, by the names that the rules know, and what it takes.

A loss of Keras is known by its function and by what that was made with: ``from_logits``, ``axis``,
``ignore_class``. The rules know losses by the functions of ``torch.nn.functional``, whose classes
lie on the second axis, so what a loss was given is arranged as those take it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ...numerics.measures import Floats
from ..observations import LEAST_COMPARED, MOST_COMPARED, MOST_COMPARED_ELEMENTS

#: A cross-entropy over classes that takes probabilities, and no logits.
OF_PROBABILITIES = "cross_entropy_of_probabilities"
CROSS_ENTROPY = "cross_entropy"
_BINARY, _BINARY_LOGITS = "binary_cross_entropy", "binary_cross_entropy_with_logits"
#: Above what a prediction of a loss of two classes stands for the class 1.
THRESHOLDS = {_BINARY: 0.5, _BINARY_LOGITS: 0.0}

# Losses whose functions are called otherwise by the rules, and those of many classes.
_NAMES = {
    "mean_squared_error": "mse_loss",
    "mean_absolute_error": "l1_loss",
    "huber": "huber_loss",
    "binary_crossentropy": _BINARY,
    "categorical_crossentropy": OF_PROBABILITIES,
    "sparse_categorical_crossentropy": OF_PROBABILITIES,
}
#: The functions that are known when a script calls them.
FUNCTIONS = tuple(_NAMES)
#: Losses that compare each element of a prediction with its own of the label.
_ELEMENTWISE = ("mse_loss", "l1_loss", "huber_loss", *THRESHOLDS)
# What computes the same of logits.
_OF_LOGITS = {_BINARY: _BINARY_LOGITS, OF_PROBABILITIES: CROSS_ENTROPY}

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
        """Return an array, or a tensor of PyTorch, as it is arranged; a view of it."""
        if self.ranks:
            return value[..., 0] if self.ranks < 0 else value[..., None]
        if self.class_axis is None:
            return value
        if isinstance(value, np.ndarray):
            return np.moveaxis(value, self.class_axis, 1)
        return value.movedim(self.class_axis, 1)


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


def loss_call(
    loss: Any, label: Any, prediction: Any, keywords: Mapping[str, Any] | None = None
) -> LossCall:
    """Return what is known of a loss that was computed.

    Args:
        loss: A ``keras.losses.Loss``, or a function of ``keras.losses``.
        label: As it was given it,
        prediction: and the same of the prediction.
        keywords: What else a function was given; an object knows it.
    """
    function, keywords = getattr(loss, "fn", loss), keywords or getattr(loss, "_fn_kwargs", {})
    name = _known_name(function)
    if name in _OF_LOGITS and takes_logits(name, keywords, prediction):
        name = _OF_LOGITS[name]
    shape, of_label = (tuple(getattr(each, "shape", ())) for each in (prediction, label))
    if name in (OF_PROBABILITIES, CROSS_ENTROPY):
        classes = int(keywords.get("axis", -1)) % max(len(shape), 1)
        moved = Arrangement(class_axis=classes) if len(shape) > 2 and classes != 1 else AS_IT_IS
        is_dense = len(of_label) == len(shape) and of_label[-1:] != (1,)
        flat = Arrangement(ranks=-1) if len(of_label) == len(shape) and not is_dense else AS_IT_IS
        ignored = keywords.get("ignore_class")
        return LossCall(name, prediction, label, moved, moved if is_dense else flat, ignored)
    if hasattr(loss, "fn"):
        return LossCall(name, prediction, label, *_same_rank(shape, of_label))
    return LossCall(name, prediction, label)


def takes_logits(name: str, keywords: Mapping[str, Any], prediction: Any) -> bool:
    """Return whether a cross-entropy takes what it is given for logits.

    On TensorFlow one that is given what a softmax or a sigmoid returned computes it of what these
    were given, whatever ``from_logits`` is.
    """
    if not keywords.get("from_logits"):
        return False
    if keras.backend.backend() != "tensorflow":
        return True
    made_by = "Sigmoid" if name == _BINARY else "Softmax"
    try:
        is_activated = prediction.op.type == made_by
    except AttributeError:  # eager tensors have no operation
        is_activated = False
    return not (is_activated or hasattr(prediction, "_keras_logits"))


def _known_name(function: Any) -> str:
    """Return the name of a function; empty for one of the script's own."""
    is_of_keras = str(getattr(function, "__module__", "")).startswith("keras.")
    name = str(getattr(function, "__name__", "")) if is_of_keras else ""
    return _NAMES.get(name, name)


def _same_rank(shape: Shape, of_label: Shape) -> tuple[Arrangement, Arrangement]:
    """Return how prediction and label are arranged, as Keras does where one has an axis more."""
    add, take = Arrangement(ranks=1), Arrangement(ranks=-1)
    if len(shape) == len(of_label) + 1 and shape[-1] == 1:
        return (AS_IT_IS, add) if len(of_label) == 1 else (take, AS_IT_IS)
    if len(of_label) == len(shape) + 1 and of_label[-1] == 1:
        return (add, AS_IT_IS) if len(shape) == 1 else (AS_IT_IS, take)
    return AS_IT_IS, AS_IT_IS


Array = npt.NDArray[np.generic]


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
    if call.function == _BINARY_LOGITS:
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
        label: Classes, shape ``[rows, ...]``, or rows of which one element is 1 and the others
            are 0, of the shape of ``prediction``; what is neither is left out.

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
    meant = _classes(label, prediction.shape)
    if meant is None:
        return None
    is_class = (meant >= 0) & (meant < num_classes)
    if call.ignore_class is not None:
        is_class &= meant != call.ignore_class
    if num_classes > MOST_CONFUSED:
        return np.bincount(meant[is_class], minlength=num_classes)
    return _counted(meant[is_class], prediction.argmax(1)[is_class], num_classes)


def _classes(label: Array, shape: tuple[int, ...]) -> Counts | None:
    """Return the classes that labels stand for, -1 for what stands for none."""
    if label.shape == shape:
        is_one = ((label == 0) | (label == 1)).all(1) & (label.sum(1) == 1)
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
