"""Rows of which one is broken in each of the last batches; what scripts and the count share."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

BATCH, STEPS, FIRST = 16, 120, 100
Array = npt.NDArray[np.generic]


def seed() -> int:
    """Return the seed that the script was given."""
    return int(sys.argv[1])


def planted(step: int, number: int) -> int:
    """Return the index in the data of the broken row of a step, with a seed."""
    return step * BATCH + (7 * step + 5 * number) % BATCH


def regression(number: int) -> tuple[Array, Array]:
    """Return inputs and targets of a linear rule; broken are targets, or one number of a row.

    Args:
        number: The seed.

    Returns:
        Float32 of shapes ``[rows, 8]`` and ``[rows, 1]``.
    """
    rng = np.random.default_rng(number)
    inputs = rng.normal(size=(BATCH * STEPS, 8)).astype(np.float32)
    targets = (inputs @ rng.normal(size=(8, 1))).astype(np.float32)
    for step in range(FIRST, STEPS):
        row = planted(step, number)
        if step % 3 == 0:
            targets[row] += 10  # as of another unit
        elif step % 3 == 1:
            inputs[row, step % 8] *= 100  # likewise, of one column
            inputs[row, step % 8] += 20
        else:
            inputs[row] = rng.permutation(inputs[row]) + 3  # another row's, and shifted
    return inputs, targets


def sentences(number: int) -> tuple[Array, Array]:
    """Return token ids and classes by the first token; broken are classes.

    Args:
        number: The seed.

    Returns:
        Int64 of shapes ``[rows, 8]`` and ``[rows]``.
    """
    rng = np.random.default_rng(number)
    ids = rng.integers(1, 40, size=(BATCH * STEPS, 8))
    labels = (ids[:, 0] < 20).astype(np.int64)
    for step in range(FIRST, STEPS):
        row = planted(step, number)
        labels[row] = 1 - labels[row]
    return ids, labels
