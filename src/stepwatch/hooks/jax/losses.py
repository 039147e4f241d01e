"""What a function that is differentiated is given: batches, and what losses of optax compare.

JAX knows neither models nor losses: a script differentiates a function of its own. The functions
of optax that compute most losses note what they are given while that function is traced.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import jax

from ..losses import BINARY_LOGITS, CROSS_ENTROPY, OF_LOGARITHMS, LossCall, of_classes
from ..patching import PatchSet
from .modules import leaves

Function = Callable[..., Any]

_OF_CLASSES = (
    "softmax_cross_entropy_with_integer_labels",
    "softmax_cross_entropy",
    "safe_softmax_cross_entropy",
)
_OF_ELEMENTS = {
    "sigmoid_binary_cross_entropy": BINARY_LOGITS,
    "squared_error": "mse_loss",
    "l2_loss": "mse_loss",
    "huber_loss": "huber_loss",
    "kl_divergence": OF_LOGARITHMS,
    "kl_divergence_with_log_targets": OF_LOGARITHMS,
    "convex_kl_divergence": OF_LOGARITHMS,
}
# Arguments that are what a model ought to return, by name.
_TARGET = re.compile(r"(^|[._])(y|ys|y_?(true|batch)|labels?|targets?|one_?hots?)$", re.IGNORECASE)


class LossListener(Protocol):
    """Is notified of losses; it may not raise."""

    def computed(self, call: LossCall) -> None:
        """A loss was computed, perhaps while a function is traced."""


class LossFunctions:
    """Wraps the loss functions of optax, and puts them back.

    Args:
        current: Returns the listener of a call, ``None`` for none.
    """

    def __init__(self, current: Callable[[], LossListener | None]) -> None:
        self._current = current
        self._replaced = PatchSet()

    def wrap(self) -> None:
        """Wrap them once optax is imported; it calls its own by another module."""
        self._replaced.when_imported("optax", self._wrap)

    def remove(self) -> None:
        """Put back, but for what somebody else has replaced since."""
        self._replaced.remove()

    def _wrap(self) -> None:
        for owner in (sys.modules.get("optax"), sys.modules.get("optax.losses")):
            for name in (*_OF_CLASSES, *_OF_ELEMENTS):
                with suppress(AttributeError, KeyError):  # another optax than we know
                    self._replaced.put(owner, name, self._wrapper)

    def _wrapper(self, original: Function) -> Function:
        names = list(inspect.signature(original).parameters)

        def loss(*args: Any, **named: Any) -> Any:
            value = original(*args, **named)
            listener = self._current()
            if listener is not None:
                given = dict(zip(names, args, strict=False)) | named
                label = given.get(names[1])
                if label is not None:  # else it is a penalty
                    listener.computed(_call(original.__name__, given[names[0]], label, given))
            return value

        return loss


def _call(name: str, prediction: Any, label: Any, given: Mapping[str, Any]) -> LossCall:
    if name not in _OF_CLASSES:
        return LossCall(_OF_ELEMENTS[name], prediction, label)
    axis = given.get("axis", -1)
    return of_classes(CROSS_ENTROPY, prediction, label, axis if isinstance(axis, int) else -1)


def model_batches(given: Sequence[Any], number: int) -> dict[str, Any]:
    """Return the arrays that a model is called with, by name.

    Args:
        given: Its positional arguments.
        number: How many models were called before in the same function.

    Returns:
        ``batch``, or ``batch/0`` and so on where there are several arrays; of the second model
        ``batch_1``.
    """
    name = f"batch_{number}" if number else "batch"
    found = [array for one in given for array in leaves(one, "").values()]
    found = [array for array in found if array.ndim and array.size and not is_key(array)]
    return {name if len(found) == 1 else f"{name}/{at}": one for at, one in enumerate(found)}


def is_key(array: Any) -> bool:
    """Return whether an array may be keys of ``jax.random``."""
    return bool(array.dtype == "uint32" and array.shape[-1:] == (2,))


def batches(
    given: Mapping[str, Any], parameters: Sequence[Any], labels: Sequence[Any]
) -> dict[str, Any]:
    """Return the arrays of samples among the arguments of a function that is differentiated.

    Samples lie on the first axis, as many of each array; what has one axis is taken for a label.

    Args:
        given: What it is not differentiated by, by the names of its arguments.
        parameters: What it is differentiated by: a copy of it is no batch.
        labels: What losses compared predictions with.

    Returns:
        The arrays by name: ``batch``, or ``batch/images`` where there are several.
    """
    kinds = {jax.tree.structure(one) for one in parameters}
    found: dict[str, Any] = {}
    for argument, tree in given.items():
        arrays = leaves(tree, argument)
        sizes = {array.shape[:1] for array in arrays.values()}
        is_copy = jax.tree.structure(tree) in kinds and len(arrays) > 1
        if len(sizes) == 1 and not is_copy:
            prefix = f"{argument}." if len(arrays) > 1 else ""
            found |= {prefix + path: array for path, array in arrays.items()}
    samples = next((one.shape[:1] for one in labels if one.shape), None)
    found = {
        path: array
        for path, array in found.items()
        if array.ndim > 1
        and array.size
        and not is_key(array)
        and samples in (None, array.shape[:1])
        and not any(array is label for label in labels)
        and not _TARGET.search(path)
    }
    if len({array.shape[0] for array in found.values()}) > 1:
        return {}
    return {"batch" if len(found) == 1 else f"batch/{path}": one for path, one in found.items()}
