"""Columns that came later: offsets, digests, histograms of exponents, and parts without them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native_records import assert_same_record, records, store_part, uniform_records

from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.layout import Span
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.observations import SCHEMA, SINCE_LATER, to_records, to_table
from stepwatch.formats.native.part_meta import PartMeta
from stepwatch.formats.native.parts import Part, write_part
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.formats.step_range import step_ranges
from stepwatch.record import StepRecord
from stepwatch.store.memory import MemoryStore
from stepwatch.trial import Trial

_numbers = itertools.count()
LARGEST = 2**64 - 1


@pytest.fixture
def store():
    return new_store()


def new_store():
    return MemoryStore(f"later-{next(_numbers)}")


def store_old_part(store, made, follows=-1):
    """Write steps as the first releases did."""
    table = to_table(made, [None] * len(made)).drop_columns(list(SINCE_LATER))
    span = Span("worker_0", made[0].step, made[-1].step)
    write_part(store, span, table, PartMeta(follows, tuple(step_ranges(made))), clustered=False)
    return Part(store, span)


def with_more(record: StepRecord) -> StepRecord:
    """Return a step with the largest digest for its first tensor and exponents for its last."""
    names = [info.name for info in record.layout.tensors]
    counts = np.arange(64) + record.step
    return replace(record, digests={names[0]: LARGEST}, exponents={names[-1]: counts})


def found_in(part):
    return [rows.record for rows in to_records(part.read(), "worker_0", {})]


class TestRoundTrip:
    @given(records(), st.integers(1, 11))
    @settings(max_examples=40, deadline=None)
    def test_merged_parts_give_the_same_records_to_the_bit(self, made, cut):
        """Also where one part has digests, exponents or offsets and the other has none."""
        store = new_store()
        halves = [half for half in (made[:cut], made[cut:]) if half]
        parts = [store_part(store, half) for half in halves]
        if len(parts) == 2:
            parts = [Part(store, merge_parts(store, parts).span)]

        found = found_in(parts[0]) if parts else []

        assert len(made) == len(found)
        for expected, record in zip(made, found, strict=True):
            assert_same_record(expected, record)

    def test_any_parquet_reader_has_them_as_numbers(self, store):
        """Unsigned 64-bit whole numbers, and lists; null where there is none."""
        part = store_part(store, [with_more(uniform_records(0, 1, tensors=2)[0])])
        table = pq.read_table(pa.BufferReader(store.get(part.key)))

        assert [LARGEST, None] == table.column("digest").to_pylist()
        assert [None, list(range(64))] == table.column("exponents").to_pylist()
        assert (pa.uint64(), pa.list_(pa.int64())) == (
            table.schema.field("digest").type,
            pa.list_(table.schema.field("exponents").type.value_type),
        )


class TestOldParts:
    def test_they_are_read_as_parts_without_any(self, store):
        """Whatever columns are asked for, in the order asked for."""
        made = uniform_records(0, 3)
        part = store_old_part(store, made)

        assert SCHEMA.names == part.read().column_names
        assert ["digest", "step"] == part.read(["digest", "step"]).column_names
        for expected, record in zip(made, found_in(part), strict=True):
            assert_same_record(expected, record)

    def test_they_merge_with_new_ones(self, store):
        """A run that is carried on by a newer release."""
        made = uniform_records(0, 4)
        made[2:] = [with_more(record) for record in made[2:]]
        parts = [store_old_part(store, made[:2]), store_part(store, made[2:], follows=1)]

        merged = Part(store, merge_parts(store, parts).span)

        for expected, record in zip(made, found_in(merged), strict=True):
            assert_same_record(expected, record)

    def test_a_trial_shows_old_and_new_parts_as_one_run(self, store):
        """Digests from where they begin."""
        made = uniform_records(0, 4)
        start_run(store, Manifest("run", 0))
        store_old_part(store, made[:2])
        store_part(store, [with_more(record) for record in made[2:]], follows=1)

        tensor = Trial(store).tensor("t0")

        assert [0, 1, 2, 3] == tensor.steps()
        assert {2: LARGEST, 3: LARGEST} == tensor.digests()


class TestLive:
    def test_what_is_written_while_training_comes_back(self, store):
        """Through the writer and the reader, with merges in between."""
        made = [with_more(record) for record in uniform_records(0, 25)]
        start_run(store, Manifest("run", 0))
        writer = NativeWriter(store, "worker_0")
        for record in made:
            writer.write(record)
            writer.flush()
        writer.close(End("finished", 1, 25))

        found = [step for (step,) in Trial(store).records()]

        for expected, record in zip(made, found, strict=True):
            assert_same_record(expected, record)
