"""Batches that share samples with the one before."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules.samples import DrawnSamples

RNG = np.random.default_rng(0)
SIZE = 16


def windows(begins):
    """Return batches that begin at some rows; past the last row they go on with the first."""
    return [(np.arange(SIZE) + begin).tolist() for begin in begins]


@pytest.mark.parametrize(
    ("batches", "are_shifted"),
    [
        (windows(range(24)), True),
        (windows(RNG.permutation(24)), True),
        (windows(range(0, 12 * SIZE, SIZE)), False),
        ([[*range(at, at + SIZE, 1)] for at in [0] * 12], False),  # the same one
        ([RNG.permutation(40)[:SIZE].tolist() for _ in range(12)], False),  # drawn again
        ([[row % 24 for row in one] for one in windows(range(0, 12 * SIZE, SIZE))], False),
    ],
)
def test_batches_that_are_cut_out_one_sample_apart(batches, are_shifted):
    """Not of fewer samples than two batches, which come again."""
    drawn = DrawnSamples()
    for step, batch in enumerate(batches):
        drawn.add(Mode.TRAIN, batch, step, trains=True)

    assert are_shifted is drawn.are_shifted


def test_what_lies_between_two_looks_is_not_known():
    drawn = DrawnSamples()
    for step, batch in enumerate(windows(range(12))):
        drawn.add(Mode.TRAIN, batch, 10 * step, trains=True)

    assert not drawn.are_shifted
