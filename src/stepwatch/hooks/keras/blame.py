"""Trains a Keras script up to a step again, and takes that step apart by the rows of its batch.

Nothing of a Keras training is kept to begin from, so the script runs as it did: one that seeds
what it draws comes to the same step. Whether it did is said by the loss, which was recorded.

The step itself runs eagerly, in place of ``train_step``: the model is called once with the batch,
as it would have been, and the loss of each row is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ...errors import TrainingStopped
from ..patching import PatchSet, calling_first

Array = npt.NDArray[Any]
_MOST_ROWS, _SHOWN = 4096, 200


class KerasBlame:
    """Stops a script at a TRAIN step, with the share of each of its rows.

    Args:
        mode_step: The step, counted from 0 over all calls of ``fit``.
    """

    def __init__(self, mode_step: int) -> None:
        self._left = mode_step
        self._model: Any = None
        self._given: Any = None  # what ``fit`` was given as inputs
        self._patches = PatchSet()
        #: ``rows``: of each row in the order of the batch its loss, gradient norm and index.
        self.facts: dict[str, Any] = {"rows": [], "refused": ""}
        self.over = False
        self._patches.put(keras.Model, "fit", calling_first(self._fitting))
        self._patches.put(
            keras.callbacks.CallbackList, "on_train_batch_begin", calling_first(self._begin_step)
        )

    @property
    def refusal(self) -> str:
        """Why the step could not be taken apart; empty if it could."""
        return str(self.facts["refused"])

    def close(self) -> None:
        """Let go of Keras."""
        self._patches.remove()

    def _fitting(self, model: Any, x: Any = None, *_: Any, **__: Any) -> None:
        self._model, self._given = model, x

    def _begin_step(self, *_: Any, **__: Any) -> None:
        if self._left:
            self._left -= 1
            return
        model = self._model
        if model.steps_per_execution != 1:
            self._end("several steps are one call: steps_per_execution is not 1")
        model.run_eagerly, model.jit_compile = True, False
        model.train_step = self._train_step
        model.make_train_function(force=True)

    def _train_step(self, *given: Any) -> Any:
        """Take a batch apart; it is given as the backend gives it to ``train_step``."""
        x, y, weights = keras.utils.unpack_x_y_sample_weight(given[-1])
        try:
            self._take_apart(x, y, weights, given[0] if len(given) > 1 else None)
        except (ValueError, TypeError, RuntimeError, AttributeError) as error:
            self._end(f"the step cannot be taken apart: {error}".splitlines()[0])
        self._end("")

    def _end(self, refused: str) -> None:
        self.facts["refused"], self.over = refused, True
        raise TrainingStopped(refused or "the step was taken apart")

    def _take_apart(self, x: Any, y: Any, weights: Any, state: Any) -> None:
        first = keras.tree.flatten(x)[0]
        num_rows = int(first.shape[0])
        if num_rows > _MOST_ROWS or self._model.loss is None:
            why = f"{num_rows} rows" if num_rows > _MOST_ROWS else "the model computes its loss"
            raise ValueError(f"{why}; only compiled losses of up to {_MOST_ROWS} rows can be")

        def row_of(values: Any, row: int) -> Any:
            if values is None:
                return None
            return keras.tree.map_structure(lambda one: one[row : row + 1], values)

        def losses(outputs: Any) -> list[Any]:
            # Those that the model adds, such as weight decay, are the same of each row.
            return [
                self._model._compile_loss(
                    row_of(y, row), row_of(outputs, row), row_of(weights, row)
                )
                for row in range(num_rows)
            ]

        per_row, norms = _DIFFERENTIATED[keras.backend.backend()](self._model, x, losses, state)
        batch = keras.ops.convert_to_numpy(first)
        given = self._array_given()
        for row, (loss, gradient) in enumerate(zip(per_row, norms, strict=True)):
            fact = {"call": 0, "row": row, "loss": float(loss), "gradient": float(gradient)}
            self.facts["rows"].append(fact | _found_in(given, batch[row]))

    def _array_given(self) -> Array | None:
        """Return the first array that ``fit`` was given, ``None`` for a stream."""
        leaves = keras.tree.flatten(self._given)
        if not leaves or not hasattr(leaves[0], "__array__"):
            return None
        return np.asarray(keras.ops.convert_to_numpy(leaves[0]))


def _found_in(given: Array | None, sample: Array) -> dict[str, Any]:
    """Return the index of a sample in an array, where it is there; the first if several are it."""
    if given is None or given.shape[1:] != sample.shape:
        return {}
    same = (given == sample) | ((given != given) & (sample != sample))
    found = np.flatnonzero(same.reshape(len(given), -1).all(axis=1))
    if not len(found):
        return {}
    index = int(found[0])
    return {"index": index, "checked": True, "shown": shorten(repr(given[index]), _SHOWN)}


Losses = Callable[[Any], list[Any]]
Differentiated = tuple[Sequence[float], Sequence[float]]


def _by_torch(model: Any, x: Any, losses: Losses, state: Any) -> Differentiated:
    import torch

    del state
    values = [one.value for one in model.trainable_variables]
    per_row = losses(model(x, training=True))
    norms = []
    for loss in per_row:
        gradients = torch.autograd.grad(loss, values, retain_graph=True, allow_unused=True)
        norms.append(_norm(one.detach().cpu().numpy() for one in gradients if one is not None))
    return [float(loss) for loss in per_row], norms


def _by_tensorflow(model: Any, x: Any, losses: Losses, state: Any) -> Differentiated:
    import tensorflow as tf

    del state
    values = [one.value for one in model.trainable_variables]
    with tf.GradientTape(persistent=True) as tape:
        per_row = losses(model(x, training=True))
    norms = []
    for loss in per_row:
        gradients = tape.gradient(loss, values)
        norms.append(
            _norm(tf.convert_to_tensor(one).numpy() for one in gradients if one is not None)
        )
    return [float(loss) for loss in per_row], norms


def _by_jax(model: Any, x: Any, losses: Losses, state: Any) -> Differentiated:
    import jax

    trainable, others = state[0], state[1]

    def per_row_of(values: Any) -> Any:
        outputs, _ = model.stateless_call(values, others, x, training=True)
        return keras.ops.stack(losses(outputs))

    per_row, pull_back = jax.vjp(per_row_of, trainable)
    norms = []
    for row in range(len(per_row)):
        chosen = np.zeros(len(per_row), per_row.dtype)
        chosen[row] = 1
        norms.append(_norm(np.asarray(one) for one in pull_back(chosen)[0]))
    return [float(loss) for loss in per_row], norms


def _norm(gradients: Any) -> float:
    return float(sum(float(np.square(one, dtype=np.float64).sum()) for one in gradients) ** 0.5)


_DIFFERENTIATED: dict[str, Callable[[Any, Any, Losses, Any], Differentiated]] = {
    "torch": _by_torch,
    "tensorflow": _by_tensorflow,
    "jax": _by_jax,
}
