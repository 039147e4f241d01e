"""Helpers of other packages that prepare data, told by what they hold."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit

from stepwatch.hooks.data_helpers import Folds, is_unfitted, splits_edges


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


class Listener:
    times = 0

    def turns(self):
        self.times += 1


class TestFolds:
    @pytest.mark.parametrize(
        ("splits", "turns"), [(KFold(4), 3), (StratifiedKFold(3), 2), (TimeSeriesSplit(4), 0)]
    )
    def test_a_loop_that_goes_on_to_another_fold_turns(self, splits, turns):
        """But not one over the parts of a time series, of which each follows the one before."""
        folds, told = Folds(), Listener()
        folds.begin()
        folds.listen(told.turns)
        folds.listen(Listener().turns)  # which is gone
        try:
            labels = np.arange(12) % 2
            parts = [[*map(list, one)] for one in splits.split(np.zeros((12, 1)), labels)]
        finally:
            folds.end()

        assert (turns, turns) == (told.times, folds.num_turns)
        assert parts == [[*map(list, one)] for one in splits.split(np.zeros((12, 1)), labels)]

    def test_a_model_that_goes_on_twice_is_reported_once(self):
        folds = Folds()
        for model in ("Net", "Other", "Net", "Net"):
            folds.goes_on(model)

        assert ["evaluation/folds/Net"] == [info.name for info, _ in folds.found()]
        assert [] == [*folds.found()]
