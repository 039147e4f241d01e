"""Rows that are joined still tell the truth: sums, means and extremes are those of all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from stepwatch.formats.profile.tables import (
    PHASES,
    SPANS,
    SYSTEM,
    Sample,
    Span,
    by_series,
    spans_table,
    system_table,
    thin,
)

MS = 1_000_000


def readings(count: int) -> pa.Table:
    values = [Sample(i * 500 * MS, "cpu0", "busy_percent", float(i % 10)) for i in range(count)]
    return system_table("here", values)


def steps(count: int) -> pa.Table:
    spans = []
    for step in range(count):
        start = step * 10 * MS
        spans.append(Span(start, 10 * MS, "step", "TRAIN", "TRAIN", step))
        for number, name in enumerate(PHASES):
            spans.append(Span(start + number * 2 * MS, 2 * MS, "phase", name, "TRAIN", step))
    return spans_table("worker_0", spans)


def column(table: pa.Table, name: str) -> np.ndarray:
    return table.column(name).to_numpy()


class TestThin:
    def test_extremes_and_means_of_readings_stay(self):
        """A spike among thousands of readings is in the row that stands for it."""
        table = readings(1_000)
        spiked = pa.concat_tables(
            [table, system_table("here", [Sample(250_100 * MS, "cpu0", "busy_percent", 99.0)])]
        )

        few = thin(SYSTEM, spiked, 20)

        assert len(few) <= 20
        assert 99.0 == column(few, "max").max()
        assert 0.0 == column(few, "min").min()
        assert 1_001 == column(few, "count").sum()
        mean = np.average(column(few, "value"), weights=column(few, "count"))
        assert np.isclose(mean, column(spiked, "value").mean())

    def test_what_is_few_stays_as_it_is(self):
        """Fewer rows than were asked for are not touched."""
        table = readings(20)

        assert table.equals(thin(SYSTEM, table, 20))

    def test_empty_stays_empty(self):
        """No rows are no rows."""
        assert 0 == len(thin(SYSTEM, SYSTEM.schema.empty_table(), 5))
        assert 0 == len(thin(SPANS, SPANS.schema.empty_table(), 5))

    def test_thinning_twice_tells_the_same_sums(self):
        """Counts, sums and extremes do not depend on how often rows were joined."""
        once = thin(SYSTEM, readings(5_000), 500)
        twice = thin(SYSTEM, once, 50)

        assert 5_000 == column(twice, "count").sum()
        mean = np.average(column(twice, "value"), weights=column(twice, "count"))
        assert np.isclose(mean, 4.5)

    def test_phases_still_sum_to_their_steps(self):
        """Of a step all rows are in one bucket, wherever its phases begin."""
        few = thin(SPANS, steps(1_000), 7)

        for start in sorted(one["start_ns"] for one in few.to_pylist() if one["kind"] == "step"):
            rows = [one for one in few.to_pylist() if 0 <= one["start_ns"] - start < 1_400 * MS]
            step = next(one for one in rows if one["kind"] == "step" and one["start_ns"] == start)
            phases = [
                one
                for one in rows
                if one["kind"] == "phase" and one["start_ns"] < start + step["duration_ns"]
            ]
            assert step["duration_ns"] == sum(one["duration_ns"] for one in phases)
            assert 10 * MS == step["longest_ns"]

    def test_a_year_of_readings_fits(self):
        """Times of very long runs do not overflow."""
        year = 365 * 86_400 * 1_000 * MS
        samples = [Sample(i * year // 100, "gpu0", "busy_percent", 1.0) for i in range(101)]

        assert len(thin(SYSTEM, system_table("here", samples), 10)) <= 10

    def test_series_are_not_mixed(self):
        """What is of another device or another worker is in other rows."""
        both = pa.concat_tables(
            [spans_table(f"worker_{n}", [Span(i, 1, "pause", "gc0") for i in range(50)])
             for n in range(3)]
        )  # fmt: skip

        few = thin(SPANS, both, 1)

        assert {f"worker_{n}": 50 for n in range(3)} == {
            one["worker"]: one["count"] for one in few.to_pylist()
        }


class TestBySeries:
    def test_rows_of_a_series_lie_together(self):
        """They are in the order of series, then of time."""
        samples = [Sample(time, device, "x", 0.0) for time in (3, 1, 2) for device in ("b", "a")]

        sorted_rows = by_series(SYSTEM, system_table("here", samples)).to_pylist()

        assert 1 == sum(
            one["device"] != other["device"] for one, other in itertools.pairwise(sorted_rows)
        )
        assert [1, 2, 3, 1, 2, 3] == [one["time_ns"] for one in sorted_rows]
