"""Parts of a profile: bounded in number and size, and never a part of one is read."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from stepwatch.errors import CorruptRun, StoreError
from stepwatch.formats.native.parts import Span as Range
from stepwatch.formats.profile.parts import (
    MOMENTS,
    PartKey,
    PartsWriter,
    list_parts,
    parse_part,
    parts_prefix,
    read_part,
)
from stepwatch.formats.profile.reader import (
    Machine,
    NativeProfileReader,
    read_machines,
    write_machine,
)
from stepwatch.formats.profile.tables import SYSTEM, Clock, Sample, system_table
from stepwatch.store import open_store

MS = 1_000_000


@pytest.fixture
def store(tmp_path: Path):
    return open_store(tmp_path)


def samples(first: int, count: int, node: str = "here"):
    moments = range(first, first + count)
    return system_table(
        node, [Sample(i * 500 * MS, "cpu0", "busy_percent", float(i % 100)) for i in moments]
    )


class TestPartsWriter:
    @pytest.mark.slow
    def test_a_week_is_told_by_few_parts_of_bounded_size(self, store):
        """What a run leaves grows with the logarithm of its length, and no extreme is lost."""
        writer = PartsWriter(store, SYSTEM, "here")
        per_part = 1_210  # a thousand parts are a week, at one reading in half a second
        rows = samples(0, per_part)
        for _ in range(1_000):
            writer.write(rows)
            later = pc.add(rows.column("time_ns"), per_part * 500 * MS)
            rows = rows.set_column(rows.column_names.index("time_ns"), "time_ns", later)

        parts = list_parts(store, SYSTEM)
        rows = NativeProfileReader(store).system()

        assert len(parts) <= 28
        assert all(len(read_part(store, SYSTEM, key)) <= MOMENTS for key in parts)
        assert 1_000 * per_part == rows.column("count").to_numpy().sum()
        assert (0.0, 99.0) == (
            rows.column("min").to_numpy().min(),
            rows.column("max").to_numpy().max(),
        )

    def test_writing_goes_on_after_what_was_there(self, store):
        """A second sampler, or a run that is taken up again, adds and replaces nothing."""
        PartsWriter(store, SYSTEM, "here").write(samples(0, 3))
        PartsWriter(store, SYSTEM, "here").write(samples(3, 3))

        assert 6 == len(NativeProfileReader(store).system())

    def test_a_part_within_a_merged_one_does_not_count(self, store):
        """A merge that was cut short leaves both, and nothing is told twice."""
        writer = PartsWriter(store, SYSTEM, "here")
        for part in range(9):
            writer.write(samples(part, 1))
        kept = store.list(parts_prefix("system"))[4]
        data = store.get(kept)
        writer.write(samples(9, 1))
        store.put(kept, data)

        assert 10 == len(NativeProfileReader(store).system())

    def test_a_store_that_refuses_to_merge_loses_nothing(self, store, monkeypatch):
        """What was not merged stays as it is, and what comes later is written."""
        writer = PartsWriter(store, SYSTEM, "here")
        for part in range(9):
            writer.write(samples(part, 1))
        put, calls = store.put, []

        def refuse_second(key, data):
            calls.append(key)
            if len(calls) == 2:
                raise StoreError("no space left on device")
            put(key, data)

        monkeypatch.setattr(store, "put", refuse_second)
        with pytest.raises(StoreError):
            writer.write(samples(9, 1))
        writer.write(samples(10, 1))

        assert 11 == len(NativeProfileReader(store).system())

    def test_nothing_is_no_part(self, store):
        """An empty table leaves nothing behind."""
        PartsWriter(store, SYSTEM, "here").write(SYSTEM.schema.empty_table())

        assert [] == store.list()


class TestReader:
    def test_parts_of_another_time_are_not_opened(self, store, monkeypatch):
        """The key says what time a part is of."""
        writer = PartsWriter(store, SYSTEM, "here")
        for part in range(5):
            writer.write(samples(100 * part, 100))
        got = []
        get = store.get
        monkeypatch.setattr(store, "get", lambda key, *rest: got.append(key) or get(key, *rest))

        NativeProfileReader(store).system(210 * 500 * MS, 220 * 500 * MS)

        assert 1 == len(got)

    def test_a_damaged_part_is_left_out_and_named(self, store, tmp_path):
        """Half a file, or one of something else, costs what was in it and no more."""
        writer = PartsWriter(store, SYSTEM, "here")
        for part in range(3):
            writer.write(samples(part, 1))
        first, second, _ = (tmp_path / str(key) for key in list_parts(store, SYSTEM))
        os.truncate(first, first.stat().st_size // 2)
        second.write_bytes(b"")
        reader = NativeProfileReader(store)

        assert [2] == [one["time_ns"] // (500 * MS) for one in reader.system().to_pylist()]
        assert 2 == len(reader.notes())
        assert first.name in reader.notes()[0]

    def test_a_part_with_other_columns_is_damaged(self, store):
        """A Parquet file of somebody else is not taken for ours."""
        key = PartKey("system", Range("here", 0, 0), 0, 1)
        sink = io.BytesIO()
        pq.write_table(pa.table({"x": [1]}), sink)
        store.put(str(key), sink.getvalue())

        with pytest.raises(CorruptRun, match="no column"):
            read_part(store, SYSTEM, key)

    def test_there_may_be_no_profile(self, store):
        """A run without one has empty tables."""
        reader = NativeProfileReader(store)

        assert (0, 0) == (len(reader.system()), len(reader.spans()))
        assert ({}, (), [], []) == (
            reader.machines(),
            reader.workers(),
            reader.traces(),
            reader.notes(),
        )

    def test_who_is_gone_without_a_word_is_noted(self, store):
        """A sampler that was killed is told of; one that ended, or runs, is not."""
        write_machine(store, Machine("gone", host=os.uname().nodename, pid=2**22 + 5, process="x"))
        write_machine(store, Machine("done", ended_ns=7))
        write_machine(store, Machine("runs", host="elsewhere", pid=1))

        assert ["gone"] == [note.partition(":")[0] for note in NativeProfileReader(store).notes()]

    def test_a_damaged_machine_is_noted(self, store):
        """Its readings are still told."""
        store.put("profile/machines/here.json", b'{"node": ')
        PartsWriter(store, SYSTEM, "here").write(samples(0, 1))
        reader = NativeProfileReader(store)

        assert {} == reader.machines()
        assert 1 == len(reader.system())
        assert "profile/machines/here.json" in reader.notes()[0]
        with pytest.raises(CorruptRun):
            read_machines(store)


class TestPartKey:
    def test_it_is_read_back(self):
        """A key says all that it was made of."""
        text = (
            "profile/spans/worker_3/000000000010-000000000019_1795330949428-1795330951482.parquet"
        )

        assert text == str(parse_part("spans", text))
        assert parse_part("spans", text + ".partial") is None


class TestClock:
    def test_times_follow_a_clock_that_is_set(self):
        """An hour that is taken back moves what comes after; no interval changes by it."""
        now = {"ticks": 1_000, "wall": 3_600_000_000_000}
        clock = Clock(lambda: now["ticks"], lambda: now["wall"])
        before = clock.unix_ns(1_000)
        now["wall"] = 0

        inside = clock.unix_ns(1_500) - before
        clock.settle()

        assert 500 == inside
        assert 0 == clock.unix_ns(1_000)

    def test_drift_is_not_followed(self):
        """A clock that is slewed by a millisecond does not tear steps apart."""
        now = {"ticks": 0, "wall": 0}
        clock = Clock(lambda: now["ticks"], lambda: now["wall"])
        now.update(ticks=1_000_000_000, wall=1_001_000_000)

        clock.settle()

        assert 1_000_000_000 == clock.unix_ns(1_000_000_000)
