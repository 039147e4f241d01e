"""Embeddings whose rows grow out of proportion, by made lengths."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.rules.made_steps import full_step, judged


@pytest.mark.parametrize(("median", "found"), [(1.1, ["outlier"]), (1.0, [])])
def test_a_row_far_from_the_median_is_odd_where_that_moves(median, found):
    """Where it stays, most rows are of words that no text has, and keep what they were drawn as."""
    steps = []
    for at in range(6):
        grown = 1 if at else 0
        # The least length, those between, the largest, the mean cosine, unused rows.
        lengths = np.array([0.5, 0.8, 1 + (median - 1) * grown, 2, 2 + 40 * grown, 0.0, 0.1])
        shape = {"embeddings": {"row_norms/words": lengths}}
        steps.append(full_step(shape, 10 * at))

    conditions = [one.condition.partition(" ")[0] for one in judged("embedding_drift", steps)[0]]
    assert found == conditions


@pytest.mark.parametrize(("last", "severity"), [(2.7, "info"), (4.1, "warning")])
def test_rows_that_become_alike_as_the_loss_falls_are_no_warning(last, severity):
    """What all words have in common is learned first; few steps are looked at in full."""
    steps = []
    for at, (loss, cosine) in enumerate([(4.2, 0.0), (4.1, 0.3), (4.0, 0.6), *[(last, 0.98)] * 3]):
        lengths = np.array([0.5, 0.8, 1, 1.5, 2, cosine, 0.1])
        values = {
            "weights": {"words": np.zeros((20, 8), np.float32)},
            "embeddings": {"row_norms/words": lengths},
            "losses": {"loss/cross_entropy": np.float32(loss)},
        }
        steps.append(full_step(values, 100 * at))

    (found,) = judged("embedding_drift", steps)[0]
    assert (severity, "alike") == (found.severity, found.condition.partition(" ")[0])
