"""The contents of a run: few requests to open it, the same answers without them, killed or not."""

from __future__ import annotations

import itertools
import json
from functools import partial

import pytest

from stepwatch.errors import StoreError
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native import parts as contents
from stepwatch.formats.native.merge import Levels, compact
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.store.memory import MemoryStore
from stepwatch.store.proxy import MeteredStore
from tests.support.formats.native.native_records import uniform_records

STEPS, TENSORS = 120, 3
_numbers = itertools.count()


class MortalStore(MemoryStore):
    """Refuses all changes after the first few, as if the process had been killed there."""

    def __init__(self) -> None:
        super().__init__(f"contents-{next(_numbers)}")
        self.changes, self.last_change = 0, 10**9

    def put(self, key, data):
        self._live()
        super().put(key, data)

    def delete(self, key):
        self._live()
        super().delete(key)

    def _live(self):
        if self.changes == self.last_change:
            raise StoreError("killed")
        self.changes += 1


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of two steps, merged to eight and no further, of which a page names five."""
    monkeypatch.setattr("stepwatch.formats.native.writer.GATHER_ROWS", 2 * TENSORS)
    levels = partial(Levels, row_limit=8 * TENSORS)
    monkeypatch.setattr("stepwatch.formats.native.writer.Levels", levels)
    monkeypatch.setattr(contents, "PAGE_PARTS", 5)


def write_run(store, steps=STEPS):
    start_run(store, Manifest("run", 0))
    writer = NativeWriter(store, "worker_0")
    for record in uniform_records(0, steps, TENSORS):
        writer.write(record)
    writer.close(End("finished", 0, steps))


def opened(store):
    reader = NativeReader(store)
    reader.refresh()
    return reader


def answers(store):
    """Return everything that a reader tells of a run."""
    reader = opened(store)
    series = {
        name: [
            table.select(["step", "tensor", "sum"]).to_pylist()
            for _, table in reader.observations(frozenset({name}), ["step", "tensor", "sum"])
        ]
        for name in ("t0", "t1", "t2", "absent")
    }
    two = [len(table) for _, table in reader.observations(frozenset({"t0", "t2"}), ["step"])]
    records = [
        (record.step, record.statistics.tolist()) for record in reader.records("worker_0", 3)
    ]
    return reader.step_ranges("worker_0"), reader.tensors(), series, two, records


def without_contents(store):
    for key in store.list("contents/"):
        MemoryStore.delete(store, key)
    return store


class TestOpening:
    def test_grown_parts_are_not_asked(self):
        """Of all but the last few a page tells, which is read once."""
        store = MortalStore()
        write_run(store)
        metered = MeteredStore(store)
        parts, pages = len(store.list("observations/")), len(store.list("contents/"))
        told_of = len(contents.read_part_index(store))

        opened(metered)

        assert 3 == pages
        assert parts - 5 <= told_of
        assert 1 + pages + (parts - told_of) == len(metered._lengths)

    def test_a_tensor_of_a_part_is_one_request(self):
        """Its row group lies beside a footer of its own."""
        store = MortalStore()
        write_run(store)
        metered = MeteredStore(store)
        reader = opened(metered)
        grown = [part for part in reader.parts("worker_0") if part.known.groups]
        before = len(metered._lengths)

        tables = [part.read_tensors(frozenset({"t1"}), ["step"]) for part in grown]

        assert len(grown) == len(metered._lengths) - before
        assert len(grown) * 8 == sum(len(table) for table in tables)

    def test_who_follows_does_not_read_them(self):
        """The few parts that are new are asked themselves."""
        store = MortalStore()
        start_run(store, Manifest("run", 0))
        writer = NativeWriter(store, "worker_0")
        made = uniform_records(0, 100, TENSORS)
        for record in made[:90]:
            writer.write(record)
        reader, listed = opened(store), []
        store.list = lambda prefix="", after="": (
            listed.append(prefix),
            MemoryStore.list(store, prefix, after),
        )[1]
        for record in made[90:]:
            writer.write(record)

        reader.refresh()

        assert ["observations/"] == listed


class TestSameAnswers:
    def test_without_contents(self):
        """They are a hint: what they do not tell the parts do."""
        store = MortalStore()
        write_run(store)
        assert store.list("contents/")
        told = answers(store)

        assert answers(without_contents(store)) == told

    @pytest.mark.slow
    @pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'[{"part": 3}]', b"[{}]", b"[]"])
    def test_with_a_damaged_page(self, data, caplog):
        """It is passed over, and said unless it is well-formed."""
        store = MortalStore()
        write_run(store)
        told = answers(store)
        page = store.list("contents/")[1]
        store.put(page, data)

        assert told == answers(store)
        assert (data != b"[]") == (page in caplog.text)

    def test_with_parts_that_are_gone(self):
        """A listing tells which parts there are; contents may be of before a merge."""
        store = MortalStore()
        write_run(store)
        before = {key: store.get(key) for key in store.list("contents/")}
        told = answers(store)
        compact(store, opened(store).parts("worker_0"))
        for key, data in before.items():
            store.put(key, data)

        assert STEPS == sum(one.count for one in opened(store).step_ranges("worker_0"))
        assert told[-1] == answers(store)[-1]

    def test_with_numbers_that_are_not_what_was_written(self, caplog):
        """Steps that the parts do not have would be shown."""
        store = MortalStore()
        write_run(store)
        told = answers(store)
        page = store.list("contents/")[0]
        rows = json.loads(store.get(page))
        rows[0]["steps"][0][2] += 1
        store.put(page, json.dumps(rows).encode())

        assert told == answers(store)
        assert page in caplog.text

    def test_with_a_size_that_is_not_true(self):
        """The file is believed."""
        store = MortalStore()
        write_run(store)
        told = answers(store)
        page = store.list("contents/")[0]
        rows = json.loads(store.get(page))
        for row, wrong in zip(rows, (7, -7, 10**6), strict=False):
            del row["crc32c"]
            row["bytes"] += wrong
            row["tensors"], row["stops"] = [], []
        store.put(page, json.dumps(rows).encode())

        assert told == answers(store)


@pytest.mark.slow
class TestKilled:
    def test_after_any_change(self):
        """What is there is read, from the first step on, with no hole."""
        whole = MortalStore()
        write_run(whole, 24)
        for last in range(3, whole.changes):
            store = MortalStore()
            store.last_change = last
            with pytest.raises(StoreError):
                write_run(store, 24)
            told = answers(store)
            seen = [record.step for record in opened(store).records("worker_0")]

            assert list(range(len(seen))) == seen
            assert told == answers(without_contents(store))

    def test_while_compacting(self):
        """Old contents beside new parts, or some of the new: no step is lost or seen twice."""
        whole = MortalStore()
        write_run(whole, 32)
        before = whole.changes
        compact(whole, opened(whole).parts("worker_0"))
        for last in range(before, whole.changes):
            store = MortalStore()
            write_run(store, 32)
            store.last_change = last
            with pytest.raises(StoreError):
                compact(store, opened(store).parts("worker_0"))

            assert list(range(32)) == [one.step for one in opened(store).records("worker_0")]
            assert 32 == sum(one.count for one in opened(store).step_ranges("worker_0"))


class TestCompact:
    def test_its_contents_are_exactly_its_parts(self, monkeypatch):
        """No page is left of before."""
        monkeypatch.setattr("stepwatch.formats.native.merge.ROW_LIMIT", 24 * TENSORS)
        store = MortalStore()
        write_run(store)
        pages = len(store.list("contents/"))
        told = answers(store)

        compact(store, opened(store).parts("worker_0"))

        parts = opened(store).parts("worker_0")
        assert 5 == len(parts)
        assert {part.span for part in parts} == contents.read_part_index(store).keys()
        assert 1 == len(store.list("contents/")) < pages
        assert told[-1] == answers(store)[-1]
