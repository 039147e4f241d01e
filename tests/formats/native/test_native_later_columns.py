"""Columns that came later: offsets, digests, exponents, subjects, and parts without them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.formats.interface import step_ranges
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.observations import SCHEMA, SINCE_LATER, to_records, to_table
from stepwatch.formats.native.parts import (
    Part,
    PartMeta,
    Span,
    clustered_rows,
    fresh_rows,
    write_part,
)
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store.memory import MemoryStore
from stepwatch.trial import Trial
from tests.support.formats.native.native_records import (
    assert_same_record,
    records,
    store_part,
    uniform_records,
)

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
    write_part(store, span, fresh_rows(table), PartMeta(follows, tuple(step_ranges(made))))
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


class TestSubjectAndFunction:
    def of(self, *tensors):
        """Return a step of these tensors."""
        layout = Layout(tensors)
        return StepRecord("worker_0", Mode.TRAIN, 0, 0, 1, layout, np.zeros((len(tensors), 11)))

    def test_what_the_name_says_is_not_stored(self, store):
        """And read as before, so that bytes do not grow."""
        info = TensorInfo("gradient/fc.weight", "gradients", "float32", (2,))
        loss = TensorInfo("loss/cross_entropy_1", "losses", "float32", ())
        part = store_part(store, [self.of(info, loss)])

        assert [None, None] == part.read(["subject"]).column("subject").to_pylist()
        assert [None, None] == part.read(["function"]).column("function").to_pylist()
        (record,) = found_in(part)
        assert ("fc.weight", "") == (info.subject, info.function)
        assert "cross_entropy" == loss.function
        assert (info, loss) == record.layout.tensors

    def test_what_the_name_does_not_say_comes_back(self, store):
        """In records, and of a tensor of a trial."""
        start_run(store, Manifest("run", 0))
        loss = TensorInfo(
            "loss/first", "losses", "float32", (), function="mse_loss", subject="head"
        )
        (record,) = found_in(store_part(store, [self.of(loss)]))
        NativeWriter(store, "worker_0", follows=Span("worker_0", 0, 0)).close(End("finished", 1, 1))
        tensor = Trial(store).tensor("loss/first")

        assert (loss,) == record.layout.tensors
        assert ("head", "mse_loss") == (tensor.subject, tensor.function)

    def test_an_old_part_says_what_its_names_say(self, store):
        """Whether or not each of its row groups has a footer of its own."""
        start_run(store, Manifest("run", 0))
        loss = TensorInfo("loss/mse_loss", "losses", "float32", ())
        old = store_old_part(store, [self.of(loss)])
        merged = write_part(
            store,
            Span("worker_0", 0, 9),
            clustered_rows(old.read().drop_columns(["subject", "function"]).combine_chunks()),
            old.meta,
        )

        part = Part(store, merged.span, merged)

        (rows,) = to_records(part.read_tensors(frozenset(["loss/mse_loss"])), "worker_0", {})
        assert (loss,) == rows.record.layout.tensors


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
