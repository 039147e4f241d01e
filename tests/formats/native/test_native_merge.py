"""Merging: the same rows in fewer parts, whatever happens on the way."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.errors import StoreError
from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native import merge
from stepwatch.formats.native import parts as parts_module
from stepwatch.formats.native.merge import Levels, compact, merge_parts
from stepwatch.formats.native.parts import Part, parse_span
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.native.writer import GATHER_S, NativeWriter, start_run
from stepwatch.formats.verification import verify
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_record
from stepwatch.trial import Trial
from tests.support.formats.native.native_records import (
    records,
    sorted_rows,
    store_part,
    uniform_records,
)

_numbers = itertools.count()


def new_run():
    store = MemoryStore(f"merge-{next(_numbers)}")
    start_run(store, Manifest("run", 0))
    return store


def part_keys(store):
    return store.list("observations/")


def steps_seen(store):
    reader = NativeReader(store)
    reader.refresh()
    return [record.step for record in reader.records("worker_0")]


class TestMergeParts:
    @pytest.mark.slow
    @given(records(most=12), st.integers(1, 11))
    @settings(max_examples=60, deadline=None)
    def test_the_merged_part_holds_the_same_rows(self, made, cut):
        """Whatever layouts and modes; nothing twice, nothing else, and the same steps."""
        store = new_run()
        halves = [half for half in (made[:cut], made[cut:]) if half]
        if len(halves) < 2:
            return
        parts = [store_part(store, halves[0])]
        parts.append(store_part(store, halves[1], follows=halves[0][-1].step))
        before = [row for part in parts for row in sorted_rows(part.read())]

        merged = Part(store, merge_parts(store, parts).span)

        assert before == sorted_rows(merged.read())
        assert [merged.key] == part_keys(store)
        assert (-1, made[0].step, made[-1].step) == (merged.meta.follows, *merged.span[1:3])

    def test_rows_are_clustered_by_tensor_then_step(self):
        """A series lies together, in order."""
        store = new_run()
        parts = [
            store_part(store, uniform_records(0, 3)),
            store_part(store, uniform_records(3, 2), 2),
        ]

        table = Part(store, merge_parts(store, parts).span).read()

        expected = [(f"t{tensor}", step) for tensor in range(3) for step in range(5)]
        found = zip(
            table.column("tensor").to_pylist(), table.column("step").to_pylist(), strict=True
        )
        assert expected == list(found)

    def test_killed_before_the_old_parts_go_nothing_is_seen_twice(self):
        """A reader that meets both takes the wider one."""
        store = new_run()
        parts = [
            store_part(store, uniform_records(0, 3)),
            store_part(store, uniform_records(3, 2), 2),
        ]
        store.delete = lambda key: None

        merge_parts(store, parts)

        assert 3 == len(part_keys(store))
        assert [0, 1, 2, 3, 4] == steps_seen(store)

    def test_what_is_decoded_at_once_makes_no_difference(self, monkeypatch):
        """Of parts that were merged before, some row groups at a time; the file is the same."""
        monkeypatch.setattr(parts_module, "GROUP_ROWS", 10)
        made = uniform_records(0, 24, tensors=7)

        def merged(rows_at_once):
            monkeypatch.setattr(merge, "PORTION_ROWS", rows_at_once)
            store = new_run()
            fresh = [
                store_part(store, made[first : first + 3], follows=first - 1)
                for first in range(0, 24, 3)
            ]
            wider = [merge_parts(store, fresh[first : first + 2]).span for first in range(0, 8, 2)]
            known = merge_parts(store, [Part(store, span) for span in wider])
            return known, store.get(part_keys(store)[0])

        assert merged(1) == merged(30) == merged(1000)

    @pytest.mark.slow
    def test_texts_that_each_group_may_repeat_have_room(self, monkeypatch):
        """What a row group is written with is the texts of all that was decoded with it."""
        monkeypatch.setattr(parts_module, "GROUP_ROWS", 1)
        texts = [np.random.default_rng(number).bytes(4000).hex() for number in range(60)]
        layout = Layout(
            tuple(
                TensorInfo(f"t{number:02}", "weights", "float32", (2,), subject=text)
                for number, text in enumerate(texts)
            )
        )
        made = [
            StepRecord("worker_0", Mode.TRAIN, step, step, 0, layout, np.zeros((60, NUM_FIELDS)))
            for step in range(4)
        ]
        store = new_run()
        fresh = [store_part(store, [one], follows=one.step - 1) for one in made]
        wider = [merge_parts(store, fresh[:2]).span, merge_parts(store, fresh[2:]).span]
        known = merge_parts(store, [Part(store, span) for span in wider])

        assert 60 == len(known.groups)
        assert [0, 1, 2, 3] == steps_seen(store)


MEMORY = """\
import os, sys, threading
sys.path.insert(0, {root!r})
from pathlib import Path
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.parts import Part
from stepwatch.store import open_store
from tests.support.formats.native.native_records import store_part, uniform_records

def resident(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))

def merge():
    store = open_store({run!r})
    def merged(first):
        made = [uniform_records(step, 250, 40) for step in (first, first + 250)]
        fresh = [store_part(store, one, follows=one[0].step - 1) for one in made]
        return Part(store, merge_parts(store, fresh).span)
    parts = [merged(first) for first in range(0, 8000, 500)]
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is that of from now on
    known = merge_parts(store, parts)
    most, after = resident("VmHWM"), resident("VmRSS")
    print(most - before, after - before, Part(store, known.span).read().nbytes)

thread = threading.Thread(target=merge)  # as in a training, in which another thread allocates
thread.start()
thread.join()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestMemory:
    def test_a_merge_holds_some_of_its_rows_at_a_time_and_gives_them_back(self, tmp_path):
        """Sixteen parts of 20,000 rows: what was held of one after the other is used again."""
        code = MEMORY.format(root=str(Path(__file__).parents[3]), run=str(tmp_path))
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
        )
        most, left, rows = map(int, ended.stdout.split())

        assert most < 2.5 * rows
        assert left < rows


class TestLevels:
    @pytest.mark.slow
    @given(
        st.lists(st.sampled_from([1, 1, 1, 2, 7, 30, 60, 110]), max_size=80),
        st.sampled_from([20, 100, 250]),
    )
    @settings(max_examples=30, deadline=None)
    def test_no_step_is_ever_hidden(self, sizes, limit):
        """Parts of any sizes: a merge that spans a part it does not hold would lose its steps."""
        store = new_run()
        levels = Levels(store, row_limit=limit)
        first = 0
        for size in sizes:
            part = store_part(store, uniform_records(first, size, tensors=1), first - 1)
            levels.add(part.known)
            first += size

        assert list(range(first)) == steps_seen(store)

    @pytest.mark.slow
    @given(st.lists(st.integers(1, 60), min_size=1, max_size=120))
    @settings(max_examples=30, deadline=None)
    def test_no_merge_is_larger_than_the_limit(self, sizes):
        """Its memory and time are taken from training."""
        store, spans = new_run(), {}
        levels = Levels(store, row_limit=100)
        first = 0
        for size in sizes:
            part = store_part(store, uniform_records(first, size, tensors=1), first - 1)
            spans[part.span] = size
            levels.add(part.known)
            first += size

        for key in part_keys(store):
            span = parse_span(key)
            assert span in spans or span.last - span.first < 100

    def test_ten_parts_too_large_for_one_merge_are_merged_as_far_as_it_goes(self):
        """Once ten seconds of training held more than the limit, nothing was merged for ever."""
        store = new_run()
        levels = Levels(store, row_limit=100)
        for number in range(100):
            part = store_part(store, uniform_records(number * 11, 11, tensors=1), number * 11 - 1)
            levels.add(part.known)

        assert len(part_keys(store)) <= 12 + 9

    def test_a_merge_that_fails_leaves_the_parts_readable(self):
        """The disk is full; the next parts are merged as if nothing had been."""
        store = new_run()
        levels = Levels(store)
        put, full = store.put, [True]

        def refuse_merged(key, data):
            span = parse_span(key)
            if full[0] and span.last > span.first:
                raise StoreError("no space left on device")
            put(key, data)

        store.put = refuse_merged
        failures = 0
        for step in range(40):
            full[0] = step < 15
            part = store_part(store, uniform_records(step, 1), step - 1)
            try:
                levels.add(part.known)
            except StoreError:
                failures += 1

        assert 1 == failures
        assert list(range(40)) == steps_seen(store)
        assert len(part_keys(store)) <= 10 + 3 + 9


@pytest.mark.slow
class TestNumberOfParts:
    def test_it_grows_with_the_logarithm_of_the_run(self):
        """A thousand parts leave at most nine of each of three levels at any moment."""
        store, now = new_run(), [0.0]
        writer = NativeWriter(store, "worker_0", clock=lambda: now[0])
        most = 0
        for record in uniform_records(0, 1_000, tensors=2):
            writer.write(record)
            now[0] += GATHER_S
            writer.tick()
            most = max(most, len(part_keys(store)))

        assert 9 * 3 >= most
        assert [0, 999] == [steps_seen(store)[index] for index in (0, -1)]
        assert 1 == len(part_keys(store))

    def test_so_does_that_of_files_of_full_values(self, monkeypatch):
        """They are merged with the rows that name them, up to a size; each value stays."""
        monkeypatch.setattr("stepwatch.formats.native.merge.BLOB_LIMIT_BYTES", 20_000)
        store, now = new_run(), [0.0]
        writer = NativeWriter(store, "worker_0", clock=lambda: now[0])
        early = None
        for step in range(300):
            writer.write(make_record(step, {"loss/mse": np.float32(step)}, raw=True))
            now[0] += GATHER_S
            writer.tick()
            if step == 5:
                early = Trial(store)
                located = early.tensor("loss/mse").value(3)
        trial = Trial(store)
        steps = [0, 5, 99, 100, 250, 299]

        assert 30 >= len(store.list("tensors/"))
        assert [float(step) for step in steps] == [
            float(trial.tensor("loss/mse").value(step)) for step in steps
        ]
        assert (3.0, 4.0) == (float(located), float(early.tensor("loss/mse").value(4)))
        assert not verify(store).damages

    def test_steps_wait_until_they_were_gathered(self):
        """The first are stored at once; then not a part for each step, and none before its time."""
        store, now = new_run(), [0.0]
        writer = NativeWriter(store, "worker_0", clock=lambda: now[0])
        for record in uniform_records(0, 5):
            writer.write(record)
            writer.tick()
        assert [0] == steps_seen(store)

        now[0] = GATHER_S
        writer.tick()
        assert [0, 1, 2, 3, 4] == steps_seen(store)
        assert 2 == len(part_keys(store))

    def test_many_rows_do_not_wait(self, monkeypatch):
        """Memory is bounded also between two ticks."""
        monkeypatch.setattr("stepwatch.formats.native.writer.GATHER_ROWS", 10)
        store = new_run()
        writer = NativeWriter(store, "worker_0", clock=lambda: 0.0)
        for record in uniform_records(0, 8, tensors=3):
            writer.write(record)

        assert 2 == len(part_keys(store))


class TestCompact:
    def test_all_parts_become_one(self):
        """And it says how many are left."""
        store = new_run()
        parts = [store_part(store, uniform_records(10 * n, 10), 10 * n - 1) for n in range(7)]

        assert 1 == compact(store, parts)
        assert list(range(70)) == steps_seen(store)

    def test_a_second_time_changes_nothing(self, monkeypatch):
        """A part that is large enough stays as it is."""
        monkeypatch.setattr("stepwatch.formats.native.merge.ROW_LIMIT", 60)
        store = new_run()
        parts = [store_part(store, uniform_records(10 * n, 10, 2), 10 * n - 1) for n in range(7)]
        left = compact(store, parts)
        keys = part_keys(store)
        reader = NativeReader(store)
        reader.refresh()

        assert 3 == left == compact(store, reader.parts("worker_0"))
        assert keys == part_keys(store)

    def test_no_parts_are_none(self):
        """A run that saved nothing."""
        assert 0 == compact(new_run(), [])


class TestLostSteps:
    def test_what_could_not_be_stored_is_counted_and_the_rest_has_no_hole(self):
        """The disk is full for a while: those steps are lost, the ones after are read."""
        store = new_run()
        writer, put = NativeWriter(store, "worker_0"), store.put
        for number, record in enumerate(uniform_records(0, 9)):
            writer.write(record)
            if number % 3 == 2:
                store.put = put
                if number == 5:
                    store.put = lambda key, data: (_ for _ in ()).throw(StoreError("full"))
                    with pytest.raises(StoreError):
                        writer.flush()
                else:
                    writer.flush()

        assert 3 == writer.lost
        assert [0, 1, 2, 6, 7, 8] == steps_seen(store)

    @pytest.mark.slow
    def test_the_statistics_are_those_that_were_written(self):
        """After several merges, to the bit."""
        store, now = new_run(), [0.0]
        writer = NativeWriter(store, "worker_0", clock=lambda: now[0])
        made = uniform_records(0, 120)
        for record in made:
            record.statistics[:] = np.random.default_rng(record.step).integers(0, 99, (3, 11))
            writer.write(record)
            writer.flush()
        reader = NativeReader(store)
        reader.refresh()

        for expected, found in zip(made, reader.records("worker_0"), strict=True):
            assert expected.statistics.tobytes() == np.ascontiguousarray(found.statistics).tobytes()
