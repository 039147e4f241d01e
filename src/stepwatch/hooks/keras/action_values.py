"""Models of Keras that learn the values of actions, as in deep Q-learning, and their copies.

The script asks a model for the values of all actions, replaces that of the action which was taken,
and fits the model to the result. So all labels of a row but one are what the model says anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import keras
import numpy as np

from ..script import main_script, next_states
from ..terminals import cut_offs_for_ends, end_numbers
from .backend import Array

#: By so many of its parameters, the smallest, it is known whether the weights of a model were set.
SMALLEST = 4
# Labels are what the model says up to this, relative: it was asked in batches of another size.
_SAME = 1e-4
# Steps with such labels before a model is taken for one that learns values of actions.
_LEAST_STEPS = 3


def smallest_weights(weights: Sequence[Any]) -> list[Array]:
    """Return some weights of a model, copied: who sets its weights sets all.

    Args:
        weights: Its trainable variables, or what these hold.
    """
    chosen = sorted(weights, key=lambda one: math.prod(one.shape))[:SMALLEST]
    return [np.array(keras.ops.convert_to_numpy(one)) for one in chosen]


def chosen_actions(label: Array, prediction: Array) -> tuple[Array, Array] | None:
    """Return the rows and the actions whose values a model is to learn.

    Args:
        label: What the model is fitted to, shape ``[rows, actions]``, two actions or more.
        prediction: What it said, of the same shape.

    Returns:
        The indices of both, one for each row; ``None`` where in any row more than one label is
        another than the model says, or where none is, and for labels of 0, which others have too.
    """
    if label.ndim != 2 or label.shape != prediction.shape or label.shape[1] < 2 or not label.size:
        return None
    are_other = np.abs(np.subtract(label, prediction)) > _SAME * np.abs(prediction)
    rows, actions = np.nonzero(are_other)
    is_one = (are_other.sum(1) <= 1).all() and 2 * len(rows) >= len(label)
    if not is_one or (np.abs(label[~are_other]) < np.finfo(np.float32).tiny).all():
        return None
    return rows, actions


class ActionValues:
    """Tells which models learn values of actions, and looks at what their targets are made of."""

    def __init__(self) -> None:
        self._models: WeakSet[Any] = WeakSet()
        self._num_steps: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._last: WeakKeyDictionary[Any, list[Array]] = WeakKeyDictionary()

    def note(self, model: Any) -> None:
        """Note a model, which may be a copy of one that is trained."""
        self._models.add(model)

    def learns(self, model: Any, label: Array | None, prediction: Array | None) -> bool:
        """Note what a model is fitted to; return whether it learns values of actions.

        Args:
            label: The labels of one TRAIN step,
            prediction: and what the model said in it.
        """
        known = self._num_steps.get(model, 0)
        if label is not None and prediction is not None and chosen_actions(label, prediction):
            known = self._num_steps[model] = known + 1
        return known >= _LEAST_STEPS

    def found(
        self, model: Any, weights: Sequence[Any], is_trained: Callable[[Any], bool]
    ) -> dict[str, float]:
        """Return how the copies of such a model moved, and how far they are from it.

        Args:
            model: The model,
            weights: what its trainable variables hold now,
            is_trained: and whether another one was trained.

        Returns:
            Numbers of the collection ``policy``: of each copy both l2 norms, relative to that of
            its own weights, from the second look on; and what the script does with the ends of
            episodes and with states.
        """
        script = main_script()
        found = end_numbers(script) | next_states()
        found |= {f"value/cut_offs/{one}": 1.0 for one in cut_offs_for_ends(script)}
        for name, moved, distance in self._compared(model, weights, is_trained):
            found |= {f"value/moved/{name}": moved, f"value/distance/{name}": distance}
        return found

    def _compared(
        self, model: Any, weights: Sequence[Any], is_trained: Callable[[Any], bool]
    ) -> Iterator[tuple[str, float, float]]:
        shapes = [tuple(one.shape) for one in weights]
        trained = smallest_weights(weights)
        for copy in list(self._models):
            if copy is model or is_trained(copy) or not copy.built:
                continue
            if [tuple(one.shape) for one in copy.trainable_variables] != shapes:
                continue
            now, last = smallest_weights(copy.trainable_variables), self._last.get(copy)
            self._last[copy] = now
            if last is not None:
                size = _norm(now) or 1.0
                moved, apart = (_distance(now, other) / size for other in (last, trained))
                yield copy.name, moved, apart


def _norm(arrays: Sequence[Array]) -> float:
    return math.sqrt(sum(float(np.square(one, dtype=np.float64).sum()) for one in arrays))


def _distance(some: Sequence[Array], others: Sequence[Array]) -> float:
    return _norm([np.subtract(one, other) for one, other in zip(some, others, strict=True)])
