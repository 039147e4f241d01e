"""What a run holds of each step, as tests of its values want to see it."""

from __future__ import annotations

import numpy as np

from stepwatch.numerics.statistics import summarize


def rows_of(seen):
    """Return for each step the statistics of its tensors by name, but for its time and memory."""
    return [
        {
            info.name: row
            for info, row in zip(record.layout.tensors, record.statistics, strict=True)
            if not info.name.endswith(("_seconds", "_bytes"))
        }
        for (record,) in seen.trial.records()
    ]


def names_of(seen, *collections):
    """Return the names of the tensors of some collections at the last step, sorted."""
    infos = seen.infos().items()
    return sorted(name for name, info in infos if info.collection in collections)


def row_of(tensor):
    """Return the statistics of a dense real tensor, of its exact values."""
    return summarize(tensor.detach().double().numpy())


def assert_same(expected, rows):
    """Assert that these are the statistics under these names.

    Args:
        expected: Tensors by name, dense and real.
        rows: Of one step.
    """
    for name, tensor in expected.items():
        np.testing.assert_allclose(rows[name], row_of(tensor), rtol=1e-12, err_msg=name)
