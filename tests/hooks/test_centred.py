"""Centred means among the inputs of a forecast, and where they are right."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stepwatch.hooks.centred import CentredWindows


def series():
    rng = np.random.default_rng(0)
    return pd.Series(np.cumsum(rng.normal(size=400)), name="load")


def found(smooth, *, ahead=1, order=None, rolled=True):
    """Return by how many values targets are ahead of windows that hold their own mean.

    Args:
        smooth: Returns what stands beside the series, of it.
        ahead: Places from the end of a window to its target.
        order: Of the windows.
        rolled: Whether windows are of the series itself, and not of another one.
    """
    watch = CentredWindows()
    watch.begin()
    try:
        frame = pd.DataFrame({"load": series()})
        frame["smooth"] = smooth(frame["load"])
        if not rolled:
            frame = frame[::-1]
        frame = frame.dropna().reset_index(drop=True)
        scaled = ((frame - frame.mean()) / frame.std()).to_numpy(np.float32)
        starts = np.arange(len(scaled) - 12 - ahead)
        starts = starts if order is None else order.permutation(starts)
        x = np.stack([scaled[at : at + 12] for at in starts])
        y = np.array([scaled[at + 11 + ahead, 0] for at in starts])
        watch.look(x, y)
    finally:
        watch.end()
    return {info.name: float(value) for info, value in watch.found()}


def centred(values):
    return values.rolling(5, center=True).mean()


LEAK = {"evaluation/centred/load": 1.0}


class TestCentredWindows:
    @pytest.mark.parametrize("order", [None, np.random.default_rng(1)])
    def test_a_mean_that_the_target_is_a_part_of_is_found(self, order):
        assert LEAK == found(centred, order=order)

    def test_so_is_one_further_ahead(self):
        assert {"evaluation/centred/load": 2.0} == found(centred, ahead=2)

    def test_a_target_behind_the_mean_is_let_be(self):
        assert {} == found(centred, ahead=3)

    def test_a_mean_of_the_past_is_let_be(self):
        assert {} == found(lambda values: values.rolling(5).mean())

    def test_one_that_was_shifted_is_let_be(self):
        """It ends before its own place."""
        assert {} == found(lambda values: centred(values).shift(2))

    def test_one_that_is_only_shown_is_let_be(self):
        def smooth(values):
            centred(values)
            return values.diff()

        assert {} == found(smooth)

    def test_a_series_that_goes_backwards_is_let_be(self):
        assert {} == found(centred, rolled=False)
