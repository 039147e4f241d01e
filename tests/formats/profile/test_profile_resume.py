"""What was spent on steps that are taken once more goes, and nothing else."""

from __future__ import annotations

from itertools import count

import pyarrow as pa
import pytest

from stepwatch.formats.profile.parts import (
    PartsWriter,
    list_parts,
    read_part,
    truncate_spans,
    write_part,
)
from stepwatch.formats.profile.reader import NativeProfileReader
from stepwatch.formats.profile.tables import SPANS, Span, spans_table
from stepwatch.store import open_store

MS = 1_000_000
_places = count()


@pytest.fixture
def store():
    return open_store(f"memory://profile-resume-{next(_places)}")


def steps(first: int, count: int, begins: int = 0):
    """Return steps of a tenth of a second, and a pause in each."""
    spans = []
    for step in range(first, first + count):
        start = (begins + 100 * step) * MS
        spans.append(Span(start, 100 * MS, "step", "TRAIN", "TRAIN", step))
        spans.append(Span(start + 50 * MS, MS, "pause", "gc2"))
    return spans_table("worker_0", spans)


def written(store, *tables, worker="worker_0"):
    writer = PartsWriter(store, SPANS, worker)
    for table in tables:
        writer.write(table)


def told(store, kind="step", column="step"):
    rows = NativeProfileReader(store).spans().to_pylist()
    return [row[column] for row in rows if row["kind"] == kind]


class TestCut:
    @pytest.mark.parametrize("first", [0, 3, 4, 5, 12, 99])
    def test_steps_that_are_taken_once_more_are_told_once(self, store, first):
        """Wherever parts end; and pauses at which these steps were."""
        written(store, *(steps(4 * part, 4) for part in range(3)))
        truncate_spans(store, "worker_0", first)
        written(store, steps(first, 2, begins=60_000))

        expected = [*range(min(first, 12)), first, first + 1]
        assert expected == told(store)
        assert len(expected) == len(told(store, "pause", "name"))

    def test_others_keep_what_they_did(self, store):
        """Each worker goes back by itself."""
        written(store, steps(0, 4))
        written(store, steps(0, 4), worker="worker_1")
        truncate_spans(store, "worker_0", 0)

        assert ("worker_1",) == NativeProfileReader(store).workers()

    def test_what_went_on_meanwhile_is_kept_under_another_key(self, store):
        """Whoever copies a run by its keys must not keep the old value."""
        window = spans_table("worker_0", [Span(0, 900 * MS, "window", "trace")])
        written(store, pa.concat_tables([window, steps(0, 4)]))
        (before,) = list_parts(store, SPANS)
        truncate_spans(store, "worker_0", 2)
        (after,) = list_parts(store, SPANS)

        assert ([0, 1], ["trace"]) == (told(store), told(store, "window", "name"))
        assert (before.first_ms, before.last_ms) == (after.first_ms, after.last_ms)
        assert str(before) != str(after)

    def test_it_is_done_again_where_it_was_cut_short(self, store):
        """A part beside what replaces it counts for nothing, nor one within a merged part."""
        written(store, steps(0, 4), steps(4, 4))
        first, second = list_parts(store, SPANS)
        kept = read_part(store, SPANS, second).slice(0, 2)
        write_part(store, SPANS, kept, second.range._replace(again=1))
        assert [0, 1, 2, 3, 4] == told(store)

        write_part(store, SPANS, NativeProfileReader(store).spans(), first.range._replace(last=1))
        truncate_spans(store, "worker_0", 2)
        truncate_spans(store, "worker_0", 2)

        assert [0, 1] == told(store)

    def test_a_damaged_part_stays(self, store):
        """What it held is not known; readers leave it out, and say so."""
        written(store, steps(0, 4), steps(4, 4))
        key = str(list_parts(store, SPANS)[0])
        store.put(key, b"not Parquet")
        truncate_spans(store, "worker_0", 5)

        reader = NativeProfileReader(store)
        assert [4] == [row["step"] for row in reader.spans().to_pylist() if row["kind"] == "step"]
        assert key in "".join(reader.notes())
