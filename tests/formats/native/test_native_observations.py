"""Step records to rows and back."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.formats.interface import StepRange, join_ranges, step_ranges
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.observations import SCHEMA, to_records, to_table
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, ScalarRow, ScalarSteps, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.testing import make_record
from tests.support.formats.native.native_records import assert_same_record, records, uniform_records


def slow_steps(ranges: list[StepRange]) -> list[tuple[Mode, int, int]]:
    """Return the steps of ranges one by one."""
    return [
        (one.mode, one.first + index * one.stride, one.mode_first + index * one.mode_stride)
        for one in ranges
        for index in range(one.count)
    ]


def steps_of(made: list[StepRecord]) -> list[tuple[Mode, int, int]]:
    return [(record.mode, record.step, record.mode_step) for record in made]


class TestToRecords:
    @pytest.mark.slow
    @given(records(), st.booleans())
    @settings(max_examples=80, deadline=None)
    def test_rows_become_the_same_records_to_the_bit(self, made, shuffled):
        """In whatever order the rows lie; layouts, modes, nulls, nan and -0.0 included."""
        table = to_table(made, [None] * len(made))
        if shuffled and made:
            table = table.take(list(reversed(range(len(table)))))

        found = [rows.record for rows in to_records(table, "worker_0", {})]

        assert len(made) == len(found)
        for expected, record in zip(made, found, strict=True):
            assert_same_record(expected, record)

    @given(records())
    @settings(max_examples=30, deadline=None)
    def test_each_step_names_the_blob_of_what_has_a_raw_value(self, made):
        """And of nothing else."""
        raws = [
            {info.name: None for info in record.layout.tensors[: record.step % 3]}
            for record in made
        ]
        made = [replace(record, raw=raw) for record, raw in zip(made, raws, strict=True)]
        table = to_table(made, [f"{record.step}.blob" for record in made])

        found = [rows.blobs for rows in to_records(table, "worker_0", {})]

        expected = [
            dict.fromkeys(raw, f"{record.step}.blob")
            for record, raw in zip(made, raws, strict=True)
        ]
        assert expected == found

    def test_steps_of_a_few_numbers_are_stored_as_one_by_one(self, tmp_path):
        """Among others, one with raw values; also what is not finite."""
        full = make_record(0, {"loss/x": np.ones(3, np.float32), "w": np.ones(2)}, raw=True)
        losses = make_record(0, {"loss/x": np.float32(1)}).layout
        numbers = (0.5, np.inf, np.nan, -0.0)
        rows = [
            ScalarRow(Mode.TRAIN, losses, 1 + 2 * index, 1 + index, 10 + index, (number,))
            for index, number in enumerate(numbers)
        ]
        (steps,) = ScalarSteps.of("worker_0", rows)
        one_by_one, together = (open_store(tmp_path / name) for name in ("one", "all"))
        for store, later in ((one_by_one, [*steps.records()]), (together, [steps])):
            start_run(store, Manifest("run", 0, pid=0))
            writer = NativeWriter(store, "worker_0")
            for record in (full, *later):
                if isinstance(record, StepRecord):
                    writer.write(record)
                else:
                    writer.write_scalars(record)
            assert 5 == writer.lost  # so far
            writer.close(End("finished", 1, 5))
            assert 0 == writer.lost

        readers = [NativeReader(store) for store in (one_by_one, together)]
        for reader in readers:
            reader.refresh()
        expected, found = (list(reader.records("worker_0")) for reader in readers)
        assert 5 == len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            assert_same_record(one, other)

    def test_equal_layouts_become_one_object(self):
        """Also from table to table: what is looked up in a layout is looked up once."""
        layouts = {}
        tables = [to_table(uniform_records(first, 2), [None] * 2) for first in (0, 2)]

        found = [rows.record.layout for table in tables for rows in to_records(table, "w", layouts)]

        assert 1 == len({id(layout) for layout in found})

    def test_no_records_are_an_empty_table_and_back(self):
        """Empty in, empty out, of the one schema."""
        assert to_table([], []).schema == SCHEMA
        assert [] == list(to_records(to_table([], []), "worker_0", {}))

    def test_nan_is_a_number_and_not_a_null(self):
        """SQL's ``is null`` must not find a statistic."""
        made = uniform_records(0, 2)
        made[0].statistics[:, 5:] = float("nan")

        assert 0 == to_table(made, [None, None]).column("min").null_count


class TestRanges:
    @given(records(most=40))
    @settings(max_examples=60, deadline=None)
    def test_ranges_hold_exactly_the_steps(self, made):
        """Each once, each under its mode and mode step."""
        found = slow_steps(step_ranges(made))

        assert sorted(steps_of(made)) == sorted(found)

    @pytest.mark.slow
    @given(records(most=40), st.lists(st.integers(0, 40), max_size=4))
    @settings(max_examples=60, deadline=None)
    def test_joining_the_ranges_of_parts_keeps_the_steps(self, made, cuts):
        """However the steps were cut into parts."""
        edges = [0, *sorted(min(cut, len(made)) for cut in cuts), len(made)]
        parts = [made[start:stop] for start, stop in pairwise(edges)]

        joined = join_ranges(one for part in parts for one in step_ranges(part))

        assert sorted(steps_of(made)) == sorted(slow_steps(joined))

    @pytest.mark.slow
    @given(records(most=40))
    @settings(max_examples=50, deadline=None)
    def test_ranges_of_a_mode_ascend(self, made):
        """A reader may expand them one after the other."""
        for mode in Mode:
            found = [step for one, step, _ in slow_steps(step_ranges(made)) if one is mode]
            assert sorted(found) == found

    def test_an_even_rhythm_is_one_range(self):
        """A million steps must not be a million numbers."""
        made = uniform_records(0, 1000)[::10]

        assert [StepRange(Mode.TRAIN, 0, 100, 10, 0, 10)] == step_ranges(made)
        assert 990 == step_ranges(made)[0].last

    @given(st.lists(st.sampled_from([1, 1, 1, 5]), max_size=20))
    @settings(max_examples=60, deadline=None)
    def test_steps_stored_together_have_the_ranges_of_their_records(self, gaps):
        numbers = [(step, at, 0) for at, step in enumerate(accumulate(gaps, initial=3))]
        layout = Layout([TensorInfo("loss", "losses", "float64", ())])
        together = ScalarSteps(
            "worker_0", Mode.TRAIN, layout, np.array(numbers), np.zeros((len(numbers), 1))
        )

        assert step_ranges(list(together.records())) == step_ranges([together])

    def test_joining_whole_ranges_needs_one_rhythm(self):
        """0, 10, 20 and 30, 35, 40 stay apart though 30 would fit."""
        slow, fast = (
            StepRange(Mode.TRAIN, first, 3, stride, first, stride)
            for first, stride in ((0, 10), (30, 5))
        )

        assert [slow, fast] == join_ranges([slow, fast])
