"""Statistics that a device computed: one layout, whatever framework packs them."""

from __future__ import annotations

import numpy as np

from stepwatch.numerics.packed import EMPTY, unpack_rows
from stepwatch.numerics.statistics import FIELDS, MIN, ZEROS, summarize


def packed(values):
    """Return the packed row of some numbers, as a framework computes it."""
    finite = values[np.isfinite(values)]
    counts = [len(values), *(np.sum(test(values)) for test in (np.isnan, np.isposinf, np.isneginf))]
    return np.array(
        [
            *(*counts, np.sum(values == 0)),
            *(np.min(finite, initial=np.inf), np.max(finite, initial=-np.inf)),
            *(finite.sum(), np.abs(finite).sum(), np.square(finite).sum()),
            np.min(np.abs(finite), initial=np.inf),
        ]
    )


class TestUnpackRows:
    def test_rows_are_those_of_the_values(self):
        """The fields are in the order of ``FIELDS``; a least is of what is finite."""
        all_values = [
            np.array([1.5, -2.0, 0.0, np.nan, np.inf, -np.inf]),
            np.full(3, np.nan),
            np.array([]),
            np.array([-0.0]),
        ]
        rows = np.stack([packed(values) for values in all_values])
        found = unpack_rows(rows[:, : ZEROS + 1], rows[:, MIN:])

        np.testing.assert_array_equal([summarize(values) for values in all_values], found)
        assert not np.signbit(found[3]).any()

    def test_of_no_elements(self):
        """It is what rows merge with."""
        np.testing.assert_array_equal(packed(np.array([])), EMPTY)
        assert len(FIELDS) == len(EMPTY)

    def test_no_rows_are_no_statistics(self):
        """Nothing was observed."""
        assert (0, len(FIELDS)) == unpack_rows(np.empty((0, 5)), np.empty((0, 6))).shape

    def test_sums_are_multiplied_by_what_elements_were_divided_by(self):
        """Squares by its square; extremes are of the elements as they are."""
        values, divisor = np.array([3.0, -4.0]), 4.0
        row, divided = packed(values), packed(values / divisor)
        sent = np.concatenate([row[MIN : MIN + 2], divided[MIN + 2 : -1], row[-1:]])
        found = unpack_rows(row[None, : ZEROS + 1], sent[None], np.array([divisor]))

        np.testing.assert_array_equal(summarize(values), found[0])
