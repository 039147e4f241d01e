"""UnchangedTensor, and the evidence by which two values are alike."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from stepwatch.model.steps import Mode
from stepwatch.numerics.digest import digest
from stepwatch.numerics.statistics import summarize
from stepwatch.rules import StepView
from stepwatch.rules.tensor_equality import (
    EQUAL,
    PROBABLY_EQUAL,
    UNEQUAL,
    Digests,
    Tolerance,
    compare,
)
from tests.support.rules.made_steps import full_record, full_step, judged, steps_at

RULE = "unchanged_tensor:collection_names=weights"
W = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def weights(values, *, raw=True, **settings):
    return [
        full_step({"weights": {"w": value}}, number, raw=raw, **settings)
        for number, value in enumerate(values)
        if value is not None
    ]


def verdict(older, newer, tolerance=Tolerance(), *, digests=False):  # noqa: B008  it is frozen
    rows = [summarize(older), summarize(newer)]
    found = [Digests(np.uint64(digest(one)), np.bool_(digests)) for one in (older, newer)]
    pairs = list(zip(rows, found, strict=True))
    limits = np.array([tolerance.rtol, tolerance.atol])
    return int(compare(*pairs, limits, equal_nan=tolerance.equal_nan))


class TestUnchangedTensor:
    @pytest.mark.parametrize("raw", [True, False])
    def test_the_third_equal_value_is_one_too_many(self, raw):
        """Equal at steps 0, 1 and 2 is found at 2, not before."""
        assert [2] == steps_at(RULE, weights([W, W, W], raw=raw))
        assert [] == steps_at(RULE, weights([W, W], raw=raw))

    def test_steps_need_not_be_neighbours(self):
        assert [9] == steps_at(RULE, weights([W, None, None, W, *[None] * 5, W]))

    def test_each_older_value_is_compared_with_the_newest(self):
        """A drift of which no single step is large is a change."""
        drift = [W * (1 + 0.6e-5 * number) for number in range(8)]
        assert [] == steps_at(RULE, weights(drift))
        assert [1] == steps_at(f"{RULE},num_steps=2", weights(drift))

    @pytest.mark.parametrize(
        ("values", "equal_nan", "fires"),
        [
            ([[1.0, math.nan]] * 3, False, False),
            ([[1.0, math.nan]] * 3, True, True),
            ([[1.0, math.inf]] * 3, False, True),
            ([[1.0, math.inf], [1.0, -math.inf], [1.0, math.inf]], False, False),
            ([[]] * 3, False, False),
            ([3.0] * 3, False, True),
            ([np.ones((2, 3)), np.ones((2, 3)), np.ones((3, 2))], False, False),
            ([np.array([10**6])] * 2 + [np.array([10**6 + 1])], False, False),  # within rtol
        ],
    )
    def test_nan_infinity_shapes_and_integers(self, values, equal_nan, fires):
        found, _ = judged(f"{RULE},equal_nan={equal_nan}", weights(map(np.asarray, values)))
        assert fires == bool(found)

    def test_frozen_parameters_are_left_out_unless_asked_for(self):
        steps = weights([W] * 3, facts={"trainable": False})
        assert [] == steps_at(RULE, steps)
        assert [2] == steps_at(f"{RULE},include_frozen=true", steps)
        assert [2] == steps_at(f"{RULE},profile=compat", steps)

    def test_modes_and_workers_are_compared_with_themselves(self):
        modes = [Mode.TRAIN, Mode.EVAL, Mode.TRAIN, Mode.EVAL]
        steps = [full_step({"weights": {"w": W}}, n, mode) for n, mode in enumerate(modes)]
        assert [] == steps_at(RULE, steps)
        both = [
            StepView([full_record({"weights": {"w": W + n * (worker == "b")}}, n, worker=worker)
                      for worker in ("a", "b")])
            for n in range(3)
        ]  # fmt: skip
        assert ["a"] == [finding.worker for finding in judged(RULE, both)[0]]

    def test_what_statistics_leave_open_is_decided_by_digests_or_not_at_all(self):
        """Statistics within the tolerance prove neither; the status says what to save."""
        near = [W, W * (1 + 1e-9), W * (1 + 2e-9)]
        found, status = judged(RULE, weights(near, raw=False))
        assert ([], "NotEvaluated") == (found, status.status)
        assert "--save weights:digest" in status.details
        assert [2] == steps_at(RULE, weights(near))

    def test_a_layout_that_grows_keeps_what_was_seen(self):
        steps = [full_step({"weights": {"w": W} | ({"v": W} if n else {})}, n) for n in range(3)]
        (finding,) = judged(RULE, steps)[0]
        assert (2, "w", ["w"]) == (finding.step, finding.tensor, finding.evidence["tensors"])

    def test_one_finding_names_all_that_stopped_together(self):
        steps = [full_step({"weights": {f"w{i}": W for i in range(9)}}, n) for n in range(5)]
        (finding,) = judged(RULE, steps)[0]
        assert "nor did w1, w2, w3 and 5 more" in finding.message
        assert [0, 1, 2] == finding.evidence["steps"]


_ELEMENTS = st.floats(-1e3, 1e3, width=32) | st.sampled_from([math.nan, math.inf, -math.inf])
_VALUES = arrays(np.float32, array_shapes(max_dims=2, max_side=6), elements=_ELEMENTS)


class TestLikeness:
    @given(_VALUES, st.floats(0, 1e-2), st.floats(0, 1e-2), st.booleans(), st.randoms())
    def test_what_statistics_prove_is_what_all_elements_say(
        self, older, rtol, atol, equal_nan, random
    ):
        """A proof is never wrong, whatever the elements; the rest is left to them."""
        change = np.array([random.uniform(-2, 2) for _ in range(older.size)]).reshape(older.shape)
        with np.errstate(invalid="ignore"):
            newer = (older + change * (atol + rtol * np.abs(older))).astype(np.float32)
        tolerance = Tolerance(rtol, atol, equal_nan)
        found = verdict(older, newer, tolerance, digests=True)
        if found in (EQUAL, UNEQUAL) and older.size:
            assert (found == EQUAL) == tolerance.allows(older, newer)

    def test_equal_digests_prove_it_where_statistics_are_unknown(self):
        assert EQUAL == verdict(W, W, digests=True)
        assert UNEQUAL == verdict(W, W[::-1].copy(), Tolerance(0, 0), digests=True)

    def test_another_order_is_told_by_full_values_alone(self):
        """All statistics of it are the same."""
        ordered = np.arange(4.0)
        turned = [ordered, ordered[::-1].copy(), ordered]
        assert PROBABLY_EQUAL == verdict(*turned[:2])
        assert [] == steps_at(RULE, weights(turned))
        assert [2] == steps_at(RULE, weights(turned, raw=False))

    def test_low_precision_is_compared_as_numbers(self):
        ones = np.ones(4, ml_dtypes.bfloat16)
        assert Tolerance().allows(ones, ones)
        assert not Tolerance().allows(ones, np.full(4, 1.01, ml_dtypes.bfloat16))
