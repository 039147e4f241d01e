"""Helpers of other packages that prepare data, told by what they hold."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepwatch.hooks.data_helpers import is_unfitted, splits_edges


@pytest.mark.parametrize(
    ("training", "norm_obs", "counts", "expected"),
    [
        (False, True, [1e-4], True),
        (False, True, [1e-4, 1e-4], True),
        (False, True, [2048.0], False),
        (True, True, [1e-4], False),
        (False, False, [1e-4], False),
    ],
    ids=["new", "of several", "loaded", "in training", "rewards only"],
)
def test_a_normalization_that_was_never_fitted_is_found(training, norm_obs, counts, expected):
    """As in a VecNormalize, whose counts begin at 0.0001."""
    each = [SimpleNamespace(count=count) for count in counts]
    of = each[0] if len(each) == 1 else dict(enumerate(each))
    normalization = SimpleNamespace(training=training, norm_obs=norm_obs, obs_rms=of)

    assert expected == is_unfitted(normalization, None)


@pytest.mark.parametrize(
    ("told", "is_undirected", "held_out", "expected"),
    [(False, True, 0.1, True), (True, True, 0.1, False), (False, False, 0.1, False),
     (False, True, 0, False)],
    ids=["not told", "told", "directed", "nothing held out"],
)  # fmt: skip
def test_a_link_split_of_an_undirected_graph_is_found(told, is_undirected, held_out, expected):
    split = SimpleNamespace(is_undirected=told, num_val=0, num_test=held_out)
    graph = SimpleNamespace(is_undirected=lambda: is_undirected)

    assert expected == splits_edges(split, graph)
