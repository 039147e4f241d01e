"""What a loss of Keras was given, and which function it is.

It is known by its function and by what that was made with: ``from_logits``, ``axis``,
``ignore_class``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from ..losses import (
    AS_IT_IS,
    BINARY,
    BINARY_LOGITS,
    CROSS_ENTROPY,
    OF_PROBABILITIES,
    Arrangement,
    LossCall,
    Shape,
    of_classes,
)

# Losses whose functions are called otherwise by the rules, and those of many classes.
_NAMES = {
    "mean_squared_error": "mse_loss",
    "mean_absolute_error": "l1_loss",
    "huber": "huber_loss",
    "binary_crossentropy": BINARY,
    "categorical_crossentropy": OF_PROBABILITIES,
    "sparse_categorical_crossentropy": OF_PROBABILITIES,
}
#: The functions that are known when a script calls them.
FUNCTIONS = tuple(_NAMES)
# What computes the same of logits.
_OF_LOGITS = {BINARY: BINARY_LOGITS, OF_PROBABILITIES: CROSS_ENTROPY}


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
    if name in (OF_PROBABILITIES, CROSS_ENTROPY):
        axis, ignored = int(keywords.get("axis", -1)), keywords.get("ignore_class")
        return of_classes(name, prediction, label, axis, ignored)
    if hasattr(loss, "fn"):
        shape, of_label = (tuple(getattr(each, "shape", ())) for each in (prediction, label))
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
    made_by = "Sigmoid" if name == BINARY else "Softmax"
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
