"""Reading a run while it is written and merged: whole steps, in order, never a hole."""

from __future__ import annotations

import itertools
import logging
import threading
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.errors import CorruptRun, RunNotFound
from stepwatch.formats import open_reader
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.parts import parse_span
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.store.local import LocalStore
from stepwatch.store.memory import MemoryStore
from tests.support.formats.native.native_records import uniform_records

STEPS = 400
_numbers = itertools.count()


@pytest.fixture(params=["memory", "local"])
def store(request, tmp_path):
    if request.param == "local":
        return LocalStore(tmp_path)
    return MemoryStore(f"live-{next(_numbers)}")


def write_all(store, steps=STEPS, worker="worker_0", raw_every=7):
    """Write steps, a part for every other one, so that merging never rests."""
    writer = NativeWriter(store, worker)
    for record in uniform_records(0, steps):
        raw = {"t0": np.full(2, record.step)} if record.step % raw_every == 0 else {}
        writer.write(replace(record, worker=worker, raw=raw))
        if record.step % 2:
            writer.flush()
    writer.close(End("finished", 0, steps))


@pytest.mark.slow
class TestHammer:
    def test_every_refresh_shows_a_prefix_of_whole_steps(self, store):
        """While a thread writes and merges: no hole, no step twice, nothing taken back."""
        start_run(store, Manifest("run", 0))
        thread = threading.Thread(target=write_all, args=(store,))
        thread.start()
        reader = NativeReader(store)
        seen, refreshes, finished = 0, 0, False
        while not finished:
            finished = bool(reader.ends())
            reader.refresh()
            steps = [
                one.first + index * one.stride
                for one in reader.step_ranges("worker_0")
                for index in range(one.count)
            ]
            assert list(range(len(steps))) == steps
            assert len(steps) >= seen
            seen, refreshes = len(steps), refreshes + 1
            records = list(reader.records("worker_0", after=len(steps) - 25))
            # Parts that were merged meanwhile may show later steps as well.
            expected = range(max(0, len(steps) - 24), len(steps))
            assert list(expected) == [record.step for record in records][: len(expected)]
            for record in records:
                assert (3, 11) == record.statistics.shape
                assert (record.statistics == record.step).all()
                assert (record.step % 7 == 0) == ("t0" in record.raw)
                assert all((value == record.step).all() for value in record.raw.values())
        thread.join()

        assert STEPS == seen
        assert refreshes > 2

    def test_a_series_is_whole_while_parts_are_merged(self, store):
        """Reading one tensor over and over: as many rows as steps were seen, or more, no gap."""
        start_run(store, Manifest("run", 0))
        thread = threading.Thread(target=write_all, args=(store,))
        thread.start()
        reader = NativeReader(store)
        finished = False
        while not finished:
            finished = bool(reader.ends())
            reader.refresh()
            tables = reader.observations(frozenset({"t1"}), ["step", "sum"])
            steps = sorted(step for _, table in tables for step in table.column("step").to_pylist())
            assert list(range(len(steps))) == steps
            assert {} == reader.tensors() or {"t0", "t1", "t2"} == set(reader.tensors())
        thread.join()

        assert STEPS == len(steps)


class OvertakenStore(MemoryStore):
    """Between the listing and the reading of it, parts are merged away."""

    def __init__(self) -> None:
        super().__init__(f"overtaken-{next(_numbers)}")
        self.after_listing = []

    def list(self, prefix="", after=""):
        keys = super().list(prefix, after)
        if prefix == "observations/" and self.after_listing:
            self.after_listing.pop()()
        return keys


def merge_first(store, count):
    reader = NativeReader(store)
    reader.refresh()
    merge_parts(store, reader.parts("worker_0")[:count])


class TestOvertaken:
    @pytest.fixture
    def overtaken(self):
        store = OvertakenStore()
        start_run(store, Manifest("run", 0))
        writer = NativeWriter(store, "worker_0")
        for record in uniform_records(0, 8):
            writer.write(record)
            writer.flush()
        return store

    def test_a_listing_that_was_overtaken_is_taken_again(self, overtaken):
        """Its parts are gone; the merged one is there."""
        reader = NativeReader(overtaken)
        overtaken.after_listing = [lambda: merge_first(overtaken, 4)]
        reader.refresh()

        assert 5 == len(reader.parts("worker_0"))
        assert list(range(8)) == [record.step for record in reader.records("worker_0")]

    def test_a_part_merged_after_the_refresh_is_found_in_the_merged_one(self, overtaken):
        """Only its own rows are taken from there."""
        reader = NativeReader(overtaken)
        reader.refresh()
        rows = reader.observations(frozenset({"t2"}), ["sum"])
        first = next(rows)[1]
        merge_first(overtaken, 5)

        sums = [*first.column("sum").to_pylist()]
        sums += [value for _, table in rows for value in table.column("sum").to_pylist()]
        assert [float(step) for step in range(8)] == sums

    def test_tensors_are_named_though_the_part_was_merged(self, overtaken):
        """A live run may merge at any moment."""
        reader = NativeReader(overtaken)
        reader.refresh()
        merge_first(overtaken, 8)

        assert ["t0", "t1", "t2"] == list(reader.tensors())

    def test_a_reader_that_is_always_overtaken_keeps_what_it_saw(self, overtaken):
        """What was seen before stays true; the next refresh will do."""
        reader = NativeReader(overtaken)
        reader.refresh()
        before = reader.step_ranges("worker_0")
        overtaken.list, listing = (lambda *_: next(listings)), overtaken.list
        keys = listing("observations/")
        listings = iter([keys[1:], keys[2:], keys[1:], keys[2:], keys[1:]])
        reader.refresh()

        assert before == reader.step_ranges("worker_0")

    def test_a_part_that_was_lost_is_said_once_and_the_rest_is_shown(self, overtaken, caplog):
        """Somebody deleted it; a hole that stays is no merge."""
        key = overtaken.list("observations/")[3]
        overtaken.delete(key)
        reader = NativeReader(overtaken)
        with caplog.at_level(logging.WARNING, "stepwatch"):
            reader.refresh()
            reader.refresh()

        assert [0, 1, 2, 4, 5, 6, 7] == [record.step for record in reader.records("worker_0")]
        assert 1 == len(caplog.records)
        assert "steps of worker_0 from 3 to 3 are lost" in caplog.text

    def test_a_part_that_vanishes_while_it_is_read_is_damage(self, overtaken):
        """Not an endless search for it."""
        reader = NativeReader(overtaken)
        reader.refresh()
        key = overtaken.list("observations/")[3]
        overtaken.delete(key)

        with pytest.raises(CorruptRun, match=key):
            list(reader.records("worker_0"))


class TestTensors:
    def test_parts_with_the_same_tensors_are_asked_once(self, store, monkeypatch):
        """A million steps name the same tensors: one part tells."""
        start_run(store, Manifest("run", 0))
        write_all(store, steps=38)
        reader = NativeReader(store)
        reader.refresh()
        assert len(reader.parts("worker_0")) > 5
        read, reads = NativeReader._read, []
        monkeypatch.setattr(
            NativeReader, "_read", lambda *args: (reads.append(args), read(*args))[1]
        )

        assert {"t0": "weights", "t1": "weights", "t2": "weights"} == reader.tensors()
        assert reader.tensors()
        assert 1 == len(reads)


class TestRawValues:
    def test_a_blob_that_is_cut_is_named(self, store):
        """With its key, when the value is asked for; the statistics are still read."""
        start_run(store, Manifest("run", 0))
        write_all(store, steps=2)
        (key,) = store.list("tensors/")
        store.put(key, store.get(key)[:-3])
        reader = open_reader(store)
        reader.refresh()
        first, _ = reader.records("worker_0")

        assert (first.statistics == 0).all()
        with pytest.raises(CorruptRun, match="has 13 of 16 bytes") as caught:
            first.raw["t0"]
        assert key == caught.value.key

    def test_rows_come_after_the_values_that_they_name(self, store):
        """So a reader that sees a row finds its value."""
        puts = []
        for name in ("put", "put_parts"):
            if hasattr(store, name):
                put = getattr(store, name)
                setattr(store, name, lambda key, data, put=put: (puts.append(key), put(key, data)))
        write_all(store, steps=2)
        puts = list(dict.fromkeys(puts))  # one may be done by the other

        folders = ["reserve", "tensors", "observations", "end"]
        assert folders == [key.split("/")[0] for key in puts]
        assert parse_span(puts[1]) == parse_span(puts[2])


class TestRunNotFound:
    def test_a_folder_without_a_run_is_told_from_a_damaged_one(self, store):
        """The message says what is missing, and where."""
        with pytest.raises(RunNotFound, match=r"it holds no run.json"):
            open_reader(store)
