"""What ``fit`` of Keras is called with, and what of it is foreseen not to go as it was meant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from weakref import ref

import keras
import numpy as np

from ...numerics.measures import Floats
from ..losses import MOST_CLASSES, Array
from ..shared_rows import TrainedRows, shared_samples

#: Of more labels the classes are not counted.
_MOST_LABELS = 10_000_000
# An average of weights that holds so much of those it began with is none of the training.
_MOST_OF_FIRST = 0.5


@dataclass(frozen=True, slots=True)
class Fit:
    """What ``fit`` was called with.

    Args:
        callbacks: A list, one, or a ``CallbackList``.
        class_weights: Shape ``[classes]``, if it has weights of classes.
        is_weighted: Whether it has weights of classes or samples, and none for validation.
        kept: The ``id`` of each normalization whose running statistics are no longer those of a new
            layer: it may keep them on purpose. Within a step of JAX they cannot be read.
        foreseen: What is known of a schedule that is over too early, and of an average of weights
            that is hardly begun when the training ends, by name.
        remade: In how many epochs in a row the model was compiled anew and trained on.
        trained_before: Which share of what validates the model it was trained on in earlier calls.
    """

    callbacks: object = None
    class_weights: Floats | None = None
    is_weighted: bool = False
    kept: frozenset[int] = frozenset()
    foreseen: Mapping[str, float] = field(default_factory=dict)
    remade: int = 0
    trained_before: float = 0.0

    def monitors(self) -> Iterator[tuple[str, float]]:
        """Yield the callbacks that monitor something: the name, and -1 where less is better."""
        found = getattr(self.callbacks, "callbacks", self.callbacks)
        for callback in found if isinstance(found, (list, tuple)) else [found]:
            if not isinstance(callback, _MONITORS) or not isinstance(callback.monitor, str):
                continue
            if not getattr(callback, "save_best_only", True):
                continue
            mode = getattr(callback, "mode", "auto")
            compares = getattr(getattr(callback, "monitor_op", None), "__name__", "")
            sign = _SIGNS.get(mode) or _SIGNS.get(compares)
            if sign:
                yield f"{type(callback).__name__}/{callback.monitor}", sign


# So many arrays that validate a model, or that it is evaluated on, are compared with what it was
# fitted on.
_MOST_COMPARED = 4
#: More of what validates a model is what it was trained on in an earlier call of ``fit``.
MOST_TRAINED_BEFORE = 0.5


class Trained:
    """Remembers what one model was trained on, as long as its weights go on."""

    def __init__(self) -> None:
        self._rows = TrainedRows()
        self._weights: Array = np.empty(0)
        self._given: tuple[ref[Array], ref[Array], int] | None = None
        self._num_compared = 0

    def goes_on(self, model: Any) -> bool:
        """Return whether the model has the weights that it was trained to."""
        return np.array_equal(self._weights, _fewest_weights(model))

    def share(self, rows: Array | None, *, goes_on: bool) -> float:
        """Return which share of what is to validate it was trained on in earlier calls.

        Args:
            rows: What is to validate.
            goes_on: What ``goes_on`` returns: of a model that does not, nothing is remembered.
        """
        if not goes_on:
            self._rows = TrainedRows()
        return 0.0 if rows is None else self._rows.share(rows)

    def begin(self, given: Mapping[str, Any], rows: Array | None) -> None:
        """It is about to be trained on these.

        Args:
            given: The arguments of ``fit``, which are not held.
            rows: Those of them that are trained on, if they are an array.
        """
        x, y = given.get("x"), given.get("y")
        if rows is None or not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
            self._given = None
        else:
            self._given = ref(x), ref(y), len(rows)

    def shared(self, rows: object) -> float:
        """Return which share of rows it was trained on last; see ``shared_samples``."""
        if self._given is None or self._num_compared >= _MOST_COMPARED:
            return 0.0
        x, y, count = self._given[0](), self._given[1](), self._given[2]
        if x is None or y is None or not isinstance(rows, np.ndarray) or rows is x:
            return 0.0
        self._num_compared += 1
        return shared_samples(x[:count], rows, y[:count])

    def add(self, model: Any, rows: Array | None) -> None:
        """It was trained on these."""
        if rows is not None:
            self._rows.add(rows)
        self._weights = _fewest_weights(model)


def _fewest_weights(model: Any) -> Array:
    """Return the fewest weights of a model that are trained; nothing before it is built."""
    some = min(model.trainable_variables, key=lambda one: math.prod(one.shape), default=None)
    return np.empty(0) if some is None else np.array(keras.ops.convert_to_numpy(some))


def parts(given: Mapping[str, Any]) -> tuple[Array | None, Array | None]:
    """Return the rows that ``fit`` trains on and validates with, as far as these are arrays.

    Args:
        given: Its arguments.
    """
    x, validation = given.get("x"), given.get("validation_data")
    if not isinstance(x, np.ndarray) or x.ndim < 2:
        return None, None
    if isinstance(validation, (tuple, list)):
        return x, validation[0] if isinstance(validation[0], np.ndarray) else None
    split = int(len(x) * (1 - float(given.get("validation_split") or 0.0)))
    return x[:split], x[split:] if split < len(x) else None


_MONITORS = (
    keras.callbacks.EarlyStopping,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.ModelCheckpoint,
)
_SIGNS = {"min": -1.0, "max": 1.0, "less": -1.0, "greater": 1.0}


# Where a schedule is looked at, as shares of the steps of a training. It is over at the first of
# them from which on it stays as it is, or next to nothing; that is too early up to such a share.
_LOOKS = (0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1)
_STAYS_EARLY, _ENDS_EARLY, _FELL, _NOTHING = 0.05, 0.3, 0.1, 5e-4
#: Of fewer steps nothing is said.
_LEAST_SCHEDULED = 100


def foresee(model: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield what is known of a training before it begins that will not go as it was meant.

    Args:
        given: The arguments of ``fit``.
    """
    yield from _averaged(model, given)
    yield from _schedule(model, given)


def _averaged(model: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield an optimizer whose average of weights, which ``fit`` ends with, is what they began as.

    Args:
        given: The arguments of ``fit``.
    """
    optimizer, total = model.optimizer, _steps_of(given)
    if total and optimizer.use_ema and not optimizer.ema_overwrite_frequency:
        steps = total + int(keras.ops.convert_to_numpy(optimizer.iterations))
        share = float(optimizer.ema_momentum) ** steps
        if share > _MOST_OF_FIRST:
            yield f"setup/first_weights/{type(optimizer).__name__}", share


def _schedule(model: Any, given: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield what is known of a schedule of Keras that is over long before the training.

    Args:
        given: The arguments of ``fit``.
    """
    schedule: Any = getattr(model.optimizer, "_learning_rate", None)
    is_schedule = isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule)
    total = _steps_of(given)
    if not is_schedule or not is_of_keras(schedule) or total < _LEAST_SCHEDULED:
        return
    first = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    rates = [
        float(keras.ops.convert_to_numpy(schedule(first + round(share * total))))
        for share in _LOOKS
    ]
    peak = max(rates)
    is_over = {
        _STAYS_EARLY: [rate <= _FELL * peak and rate == rates[-1] for rate in rates],
        _ENDS_EARLY: [rate <= _NOTHING * peak for rate in rates],
    }
    for most, over in is_over.items():
        share = next((one for at, one in enumerate(_LOOKS) if all(over[at:])), 1.0)
        if share <= most:
            name = type(schedule).__name__
            yield f"setup/schedule_ends/{name}", float(round(share * total))
            yield f"setup/schedule_total/{name}", float(total)
            yield f"setup/schedule_left/{name}", rates[_LOOKS.index(share)] / peak
            return


def has_state(optimizer: Any) -> bool:
    """Return whether an optimizer keeps anything from one step to the next."""
    schedule: Any = getattr(optimizer, "_learning_rate", None)
    is_scheduled = isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule)
    # On PyTorch it is one of a class below that.
    is_sgd = isinstance(optimizer, keras.optimizers.SGD) and is_of_keras(optimizer)
    is_plain = is_sgd and not optimizer.momentum
    return optimizer is not None and (is_scheduled or not is_plain)


def _steps_of(given: Mapping[str, Any]) -> int:
    """Return how many steps ``fit`` is asked for; 0 where that is not known."""
    x: Any = given.get("x")
    steps = given.get("steps_per_epoch")
    if steps is None and isinstance(x, np.ndarray):
        trained = len(x) * (1 - float(given.get("validation_split") or 0.0))
        steps = math.ceil(trained / int(given.get("batch_size") or 32))
    elif steps is None:
        steps = len(x) if hasattr(x, "__len__") and not isinstance(x, (dict, list)) else 0
    epochs = int(given.get("epochs") or 1) - int(given.get("initial_epoch") or 0)
    return int(steps) * max(0, epochs)


# Weights whose means are as near as this leave losses that can be compared.
_ALIKE = 0.8


def is_weighted(given: Mapping[str, Any]) -> bool:
    """Return whether the training loss is weighted, and that of validation is not, or otherwise.

    Losses are means over all samples, those of weight 0, too: a mask of more samples than another
    makes a loss larger.

    Args:
        given: The arguments of ``fit``.
    """
    validation, weights = given.get("validation_data"), given.get("sample_weight")
    if isinstance(validation, (tuple, list)) and len(validation) > 2:
        both = [one for one in (weights, validation[2]) if isinstance(one, np.ndarray)]
        means = [float(one.mean()) for one in both if one.size]
        return len(means) == 2 and not _ALIKE * max(means) < min(means)
    # Of weights of samples that are split, validation has its part.
    of_samples = weights is not None and not given.get("validation_split")
    return of_samples or given.get("class_weight") is not None


def class_weights(given: Mapping[str, Any]) -> Floats | None:
    """Return the weights of classes, of weights of samples where they are those of their classes.

    Args:
        given: The arguments of ``fit``.
    """
    weights = given.get("class_weight")
    if isinstance(weights, Mapping) and weights:
        size = max(map(int, weights)) + 1
        if not 1 < size <= MOST_CLASSES:
            return None
        found = np.ones(size)
        for index, weight in weights.items():
            found[int(index)] = float(weight)
        return found
    samples, labels = given.get("sample_weight"), given.get("y")
    if not isinstance(samples, np.ndarray) or not isinstance(labels, np.ndarray):
        return None
    return weights_by_class(samples, labels)


def weights_by_class(samples: Array, labels: Array) -> Floats | None:
    """Return the weight of each class, if all its samples have the same.

    Args:
        samples: Shape ``[samples]``.
        labels: Classes, shape ``[samples]`` or ``[samples, 1]``, or one-hot rows.
    """
    if samples.ndim != 1 or len(samples) != len(labels) or labels.size > _MOST_LABELS:
        return None
    if labels.ndim == 2:
        labels = labels[:, 0] if labels.shape[1] == 1 else labels.argmax(1)
    if labels.ndim != 1 or (labels != np.rint(labels)).any() or labels.min(initial=0) < 0:
        return None
    classes = labels.astype(np.int64)
    size = int(classes.max(initial=0)) + 1
    if not 1 < size <= MOST_CLASSES:
        return None
    weights = samples.astype(np.float64)
    counts = np.bincount(classes, minlength=size)
    means = np.bincount(classes, weights, minlength=size) / np.maximum(counts, 1)
    is_of_class = np.allclose(weights, means[classes], rtol=1e-3)
    return np.where(counts > 0, means, 1.0) if is_of_class else None


def is_of_keras(one: object) -> bool:
    kind = one if isinstance(one, FunctionType) else type(one)
    return kind.__module__.startswith("keras.")
