"""How near a replayed tensor is to the recorded one."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from stepwatch.diff.comparison import (
    Compared,
    Outcome,
    compare_statistics,
    compare_steps,
    compare_values,
    outcome_of,
)
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.digest import digest
from stepwatch.numerics.statistics import merge, summarize

VALUES = np.linspace(-2, 3, 600, dtype=np.float32).reshape(20, 30)


def changed(array, by, at=(7, 4)):
    """Return a copy of an array with one element moved by so many neighbouring numbers."""
    copy = array.copy()
    copy.view(f"i{array.dtype.itemsize}")[at] += by
    return copy


class TestValues:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
    @pytest.mark.parametrize("by", [1, 2])
    def test_the_distance_is_counted_in_neighbours(self, dtype, by):
        """Also next to large integers, where float64 cannot count; and a few are tolerated."""
        values = VALUES.astype(dtype)
        found = compare_values("x", values, changed(values, by))

        assert (Outcome.CLOSE, "[7, 4]", float(by)) == (found.outcome, found.at, found.ulp)

    def test_the_neighbour_of_zero_is_on_the_other_side(self):
        """From the smallest negative number to the smallest positive it is two steps."""
        tiny = np.float32(1e-45)

        assert 2.0 == compare_values("x", np.array([-tiny]), np.array([tiny])).ulp

    @pytest.mark.parametrize(
        ("recorded", "replayed", "outcome"),
        [
            (VALUES, VALUES.copy(), Outcome.SAME),
            (VALUES, VALUES * np.float32(1.000005), Outcome.CLOSE),
            (VALUES, VALUES * np.float32(1.0001), Outcome.DIFFERENT),
            (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), Outcome.SAME),
            (np.array([np.nan, 1.0]), np.array([-np.nan, 1.0]), Outcome.CLOSE),
            (np.array([np.nan, 1.0]), np.array([1.0, 1.0]), Outcome.DIFFERENT),
            (np.array([np.inf]), np.array([-np.inf]), Outcome.DIFFERENT),
            (np.array([3]), np.array([4]), Outcome.DIFFERENT),
            (np.array([200000]), np.array([200001]), Outcome.DIFFERENT),
            (np.array([2**60]), np.array([2**60 + 1]), Outcome.DIFFERENT),
            (np.array([True]), np.array([False]), Outcome.DIFFERENT),
            (np.array([1 + 2j]), np.array([1 + 2.5j]), Outcome.DIFFERENT),
            (np.zeros((2, 3)), np.zeros((3, 2)), Outcome.DIFFERENT),
            (np.zeros(2, np.float32), np.zeros(2, np.float64), Outcome.DIFFERENT),
            (np.zeros((0, 3)), np.zeros((0, 3)), Outcome.SAME),
            (np.array([0.0]), np.array([-0.0]), Outcome.CLOSE),
        ],
    )
    def test_the_outcome(self, recorded, replayed, outcome):
        """Bits, then a tolerance that is relative; what is not finite must be the same."""
        assert outcome is compare_values("x", recorded, replayed).outcome

    @pytest.mark.parametrize(
        ("dtype", "recorded", "replayed"),
        [
            (ml_dtypes.bfloat16, 1.0, 1.03),
            (ml_dtypes.float8_e4m3fn, 1.0, 1.5),
            (ml_dtypes.float8_e5m2, 1.0, 2.0),
            (ml_dtypes.float8_e5m2, 1.0, 0.0),
            (ml_dtypes.int4, 1.0, 2.0),
        ],
    )
    def test_a_coarse_dtype_tolerates_no_more_than_a_hundredth(self, dtype, recorded, replayed):
        """Its own roundings are no excuse for a number that is plainly another."""
        values = [np.full(4, value).astype(dtype) for value in (recorded, replayed)]

        assert Outcome.DIFFERENT is compare_values("x", *values).outcome


class TestStatistics:
    @pytest.mark.parametrize(
        ("factor", "outcome"),
        [(1.0, Outcome.SAME_STATISTICS), (1.000005, Outcome.CLOSE), (1.0001, Outcome.DIFFERENT)],
    )
    def test_the_outcome(self, factor, outcome):
        """Sums and extremes are judged as values are."""
        rows = summarize(VALUES), summarize(VALUES * np.float32(factor))

        assert outcome is compare_statistics("x", *rows, np.dtype(np.float32)).outcome

    def test_a_nan_that_was_not_there_is_a_difference(self):
        """However little it changes the sums."""
        spoiled = VALUES.copy()
        spoiled[0, 0] = np.nan
        found = compare_statistics("x", summarize(VALUES), summarize(spoiled), VALUES.dtype)

        assert (Outcome.DIFFERENT, "nan") == (found.outcome, found.at)

    def test_integers_have_no_tolerance(self):
        """One label of a million."""
        labels = np.arange(1_000_000) % 10
        other = labels.copy()
        other[3] = 4
        found = compare_statistics("x", summarize(labels), summarize(other), labels.dtype)

        assert Outcome.DIFFERENT is found.outcome


def step(values, *, raw=(), digests=()):
    """Return a step with these tensors."""
    infos = [TensorInfo(n, kind, "float32", a.shape) for n, (kind, a) in values.items()]
    return StepRecord(
        "worker_0", Mode.TRAIN, 3, 3, 0, Layout(tuple(infos)),
        np.array([summarize(array) for _, array in values.values()]),
        {name: values[name][1] for name in raw},
        {name: digest(values[name][1]) for name in digests},
    )  # fmt: skip


class TestSteps:
    def test_the_strongest_evidence_counts(self):
        """A value before a digest, a digest before statistics, which a permutation leaves alone."""
        names = ("a", "b", "c")
        whole = np.arange(60, dtype=np.float32)  # its sums are exact in any order
        recorded = step(dict.fromkeys(names, ("outputs", whole)), raw="a", digests="ab")
        replayed = step(dict.fromkeys(names, ("outputs", whole[::-1].copy())), raw=names)
        found = compare_steps(recorded, replayed)

        assert ["value", "digest", "statistics"] == [one.by for one in found]
        expected = [Outcome.DIFFERENT, Outcome.DIFFERENT, Outcome.SAME_STATISTICS]
        assert expected == [one.outcome for one in found]

    def test_other_values_in_another_order_differ_by_their_digest(self):
        """Also where the sums come out differently in the last digits of float64."""
        values = np.random.default_rng(0).normal(size=999).astype(np.float32)
        recorded = step({"x": ("outputs", values)}, digests="x")
        (found,) = compare_steps(recorded, step({"x": ("outputs", np.sort(values))}, raw="x"))

        assert (Outcome.DIFFERENT, "digest") == (found.outcome, found.by)

    @pytest.mark.parametrize("kept", ["raw", "digests"])
    @pytest.mark.parametrize(
        ("first", "outcome"),
        [(1, Outcome.SAME_STATISTICS), (1.000005, Outcome.CLOSE), (5, Outcome.DIFFERENT)],
    )
    def test_a_micro_batch_that_is_not_the_last_counts(self, kept, first, outcome):
        """The value is that of the last one; what is known of the others are the statistics."""
        recorded = step({"x": ("outputs", VALUES)}, **{kept: "x"})
        replayed = step({"x": ("outputs", VALUES)}, raw="x")
        for record, factor in ((recorded, 1), (replayed, first)):
            earlier = summarize(VALUES * np.float32(factor))
            record.statistics[0] = merge(np.stack([earlier, record.statistics[0]]))
        (found,) = compare_steps(recorded, replayed)

        assert (outcome, "statistics") == (found.outcome, found.by)

    @pytest.mark.parametrize("kind", ["loop", "samples"])
    def test_what_the_step_does_not_compute_is_passed_over(self, kind):
        """How long it took, say: that is never the same."""
        recorded = step({"a": ("outputs", VALUES), "b": (kind, VALUES)})
        replayed = step({"a": ("outputs", VALUES), "b": (kind, -VALUES)}, raw="ab")

        assert ["a"] == [one.name for one in compare_steps(recorded, replayed)]

    def test_learning_rates_are_compared_like_all_else(self):
        """They are numbered by optimizers that step in the same order."""
        recorded, replayed = (
            step({"learning_rate/0": ("learning_rates", np.float64(rate))}, raw=["learning_rate/0"])
            for rate in (0.1, 0.2)
        )

        assert [Outcome.DIFFERENT] == [one.outcome for one in compare_steps(recorded, replayed)]

    def test_weights_come_first(self):
        """They are recorded last, when the optimizer steps, and are what the forward used."""
        values = {"output/0": ("outputs", VALUES), "0.weight": ("weights", VALUES)}
        recorded, replayed = step(values), step(values, raw=values)

        assert ["0.weight", "output/0"] == [one.name for one in compare_steps(recorded, replayed)]

    def test_the_worst_tensor_is_the_outcome(self):
        """And a step of which nothing can be compared differs in nothing."""
        close = compare_values("x", VALUES, changed(VALUES, 1))
        same, far = compare_values("y", VALUES, VALUES), compare_values("z", VALUES, -VALUES)

        assert Outcome.DIFFERENT is outcome_of([same, far, close])
        assert Outcome.CLOSE is outcome_of([same, close])
        alike = Compared("s", Outcome.SAME_STATISTICS, "statistics")
        assert Outcome.SAME_STATISTICS is outcome_of([same, alike])
        assert Outcome.SAME is outcome_of([])
