"""Tensors of which only reductions were stored: what follows for their statistics, and what not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from stepwatch.formats.smdebug.collections import Reduction
from stepwatch.formats.smdebug.observations import row_of_reductions
from stepwatch.formats.smdebug.reductions import REDUCTION_PREFIX
from stepwatch.numerics.statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    POSINF,
    SUM,
    SUM_ABS,
    SUM_SQ,
    ZEROS,
    quantity,
    summarize,
)
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial
from tests.support.formats.smdebug.golden_runs import golden_run
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_step

EVERY = (
    "min", "max", "mean", "std", "variance", "sum", "l1", "l2",
    "abs_min", "abs_max", "abs_mean", "abs_sum",
)  # fmt: skip


def reduced(value: Any, *names: str, dtype: Any = np.float64) -> dict[Reduction, Any]:
    """Return reductions as smdebug's hook for PyTorch stores them."""
    functions = {
        "std": lambda x: np.std(x, ddof=1) if x.size > 1 else np.nan,
        "variance": lambda x: np.var(x, ddof=1) if x.size > 1 else np.nan,
        "l1": lambda x: np.abs(x).sum(),
        "l2": lambda x: np.sqrt((x * x).sum()),
    }
    found = {}
    for name in names:
        reduction = Reduction.parse(name)
        of = np.abs(value) if reduction.of_abs else value
        function = functions.get(reduction.name) or getattr(np, reduction.name)
        found[reduction] = np.array(function(of), dtype)
    return found


class TestRowOfReductions:
    @given(
        st_numpy.arrays(
            np.float64, st_numpy.array_shapes(max_dims=3), elements=st.floats(-1e3, 1e3, width=16)
        )
    )
    def test_all_reductions_and_the_shape_give_all_but_the_zeros(self, value: Any):
        """The variance is divided by N - 1, as PyTorch does it."""
        row = row_of_reductions(reduced(value, *EVERY), value.shape)

        wanted = summarize(value)
        known = [COUNT, NAN, POSINF, NEGINF, MIN, MAX, SUM, SUM_ABS, SUM_SQ, ABS_MIN]
        np.testing.assert_allclose(wanted[known], row[known], rtol=1e-9, atol=1e-9)
        assert np.isnan(row[ZEROS]) or row[ZEROS] == wanted[ZEROS]

    def test_the_variance_of_numpy_is_divided_by_n(self):
        """What has a dimension was computed by NumPy."""
        value = np.array([1.0, 2.0, 4.0])
        stored = {
            Reduction("mean"): value.mean(keepdims=True),
            Reduction("std"): value.std(keepdims=True),
        }

        row = row_of_reductions(stored, (3,))
        np.testing.assert_allclose(21.0, row[SUM_SQ])

    @pytest.mark.parametrize(("shape", "known"), [((4,), True), ((2, 2), False), (None, False)])
    def test_norms_of_numpy_are_those_of_elements_only_of_vectors(self, shape: Any, known: bool):
        """Of a matrix they are those of the linear map."""
        row = row_of_reductions({Reduction("l2"): np.array([3.0])}, shape)

        assert known == np.isfinite(row[SUM_SQ])

    @pytest.mark.parametrize(
        ("names", "count"), [(("sum", "mean"), 6.0), (("l1", "abs_mean"), 6.0), (("sum",), np.nan)]
    )
    def test_how_many_elements_there_are_follows_from_sum_and_mean(self, names: Any, count: float):
        """Without a shape; from a sum alone it does not."""
        value = np.array([0.1, 0.2, -0.7, 0.4, 0.5, 0.6])

        row = row_of_reductions(reduced(value, *names, dtype=np.float32), None)
        np.testing.assert_array_equal(count, row[COUNT])

    def test_a_nan_shows_that_there_is_one(self):
        """How many there are it does not tell: the count is 1 then."""
        row = row_of_reductions(reduced(np.array([1.0, np.nan]), "mean", "min", "max"), (2,))

        assert row[NAN] == 1.0
        assert np.isnan(row[[POSINF, NEGINF, MIN, MAX, SUM]]).all()

    def test_infinity_shows_that_there_is_one(self):
        """Of the sign that the extreme has; the other extreme is known."""
        row = row_of_reductions(reduced(np.array([1.0, np.inf]), "min", "max"), (2,))

        assert (1.0, 1.0) == (row[POSINF], row[MIN])
        assert np.isnan(row[[NAN, MAX]]).all()

    def test_the_deviation_of_one_element_shows_nothing(self):
        """N - 1 is 0 there."""
        row = row_of_reductions(reduced(np.array([2.0]), "std", "mean"), (1,))

        np.testing.assert_array_equal(summarize(np.array([2.0])), row)

    @pytest.mark.parametrize("name", ["prod", "median"])
    def test_what_tells_nothing_leaves_everything_open(self, name: str):
        """Only the count is known, from the shape."""
        row = row_of_reductions(reduced(np.array([1.0, 2.0]), name), (2,))

        assert row[COUNT] == 2.0
        assert np.isnan(row[[MIN, MAX, SUM, SUM_ABS, SUM_SQ]]).all()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty place with the collections of one worker."""
    place = open_store(tmp_path)
    put_collections(place)
    return place


def stored(value: Any, *names: str) -> dict[str, Any]:
    """Return reductions of a tensor ``t`` under the names they are stored by."""
    found = reduced(value, *names).items()
    return {f"{REDUCTION_PREFIX}{reduction.stored}/t": number for reduction, number in found}


class TestVisible:
    def test_reductions_make_a_tensor(self, store: Store):
        """Though no value of it was saved."""
        value = np.array([[1.0, -2.0], [3.0, 4.0]])
        put_step(store, 0, stored(value, "mean", "l2"), shapes={"t": (2, 2)})

        series = Trial(store).tensor("t").statistics()
        np.testing.assert_allclose([1.5, 30.0**0.5], [series["mean"][0], series["l2"][0]])

    @pytest.mark.parametrize(
        ("names", "shape", "shown"),
        [
            (("min", "max", "mean", "std", "l1", "l2", "abs_max"), (3,), ()),
            (("min", "prod", "median"), (3,), ("median", "prod")),
            (("mean", "std"), None, ("mean", "std")),
            (("mean", "std", "sum"), None, ()),
            (("abs_max", "min"), (3,), ("abs_max",)),
            (("std",), (3,), ("std",)),
            (("abs_std",), (3,), ("abs_std",)),
        ],
    )
    def test_what_does_not_follow_is_shown_as_a_tensor(
        self, store: Store, names: Any, shape: Any, shown: Any
    ):
        """Under the name it is stored by, and with its value; what follows is not repeated."""
        value = np.array([1.0, 2.0, 4.0])
        put_step(store, 0, stored(value, *names), shapes={} if shape is None else {"t": shape})

        trial = Trial(store)
        assert [f"{REDUCTION_PREFIX}{name}/t" for name in shown] + ["t"] == trial.tensor_names()
        for name, number in stored(value, *shown).items():
            assert number == trial.tensor(name).value(0)

    def test_beside_a_value_only_prod_and_median_are_shown(self, store: Store):
        """The rest follows from the statistics of the value."""
        value = np.array([1.0, 2.0, 4.0])
        put_step(store, 0, {"t": value} | stored(value, *EVERY, "prod", "abs_mean"))

        assert [f"{REDUCTION_PREFIX}prod/t", "t"] == Trial(store).tensor_names()

    def test_a_real_run_gives_its_reductions_back(self):
        """Those that PyTorch computed follow from the statistics, to its precision."""
        trial = Trial(golden_run("pt_reductions_shapes"))
        name = "gradient/Net_fc1.weight"
        series = trial.tensor(name).statistics()
        count = series["count"]
        derived = {
            "min": series["min"], "max": series["max"], "sum": series["sum"],
            "mean": series["mean"], "l1": series["l1"], "l2": series["l2"],
            "abs_mean": series["abs_mean"], "abs_max": series["abs_max"],
            "variance": quantity(series.rows, "variance") * count / (count - 1),
        }  # fmt: skip
        for text, numbers in derived.items():
            kept = [
                trial.reader.reduction("worker_0", int(step), name, Reduction.parse(text)).item()
                for step in series.steps
            ]
            np.testing.assert_allclose(kept, numbers, rtol=2e-6)
