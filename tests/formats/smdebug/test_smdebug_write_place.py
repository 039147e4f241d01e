"""Whether a place is free, the marks that smdebug knows, and how a run ends."""

from __future__ import annotations

import os

import numpy as np
import pytest

from stepwatch.errors import RunExists
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import RUN_KEY, End, Manifest, end_key
from stepwatch.formats.smdebug.layout import CLAIM_KEY, END_KEY, event_key, index_key
from stepwatch.runtime.process import identity
from stepwatch.store import open_store
from tests.support.formats.smdebug.smdebug_steps import step_of, tensors

END = End("finished", 1)
MARKS = (
    END_KEY,
    CLAIM_KEY,
    "collections/000000000/worker_0_collections.json",
    "index/000000000/000000000000_worker_0.json",
)


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "run")


def manifest(num_workers=1, *, alive=True, run_format="smdebug"):
    pid, process = (os.getpid(), identity()) if alive else (2**22 + 1, "")
    return Manifest(
        "id", 1, host=os.uname().nodename, pid=pid, process=process,
        num_workers=num_workers, run_format=run_format,
    )  # fmt: skip


def open_place(store, rank=0, num_workers=1, **arguments):
    worker, first = f"worker_{rank}", rank == 0
    return open_writer(RunTarget(store, worker, manifest(num_workers), is_first=first, **arguments))


class TestEnding:
    def test_a_single_worker_holds_the_claim_until_it_ends(self, store):
        """As smdebug's hook does, so that a second one keeps away."""
        writer = open_place(store)
        while_open = store.list(CLAIM_KEY)
        writer.close(END)

        assert ([CLAIM_KEY], []) == (while_open, store.list(CLAIM_KEY))
        assert [END_KEY, end_key("worker_0")] == [
            key for key in (END_KEY, end_key("worker_0")) if store.list(key)
        ]

    def test_several_workers_claim_nothing(self, store):
        """Each writes files of its own."""
        open_place(store, num_workers=2)

        assert [] == store.list(CLAIM_KEY)

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_the_last_worker_ends_the_run(self, store, order):
        """One that ends early does not end it for the others, whichever it is."""
        writers = [open_place(store, rank, 2) for rank in range(2)]
        ended = []
        for rank in order:
            writers[rank].close(END)
            ended.append(bool(store.list(END_KEY)))

        assert [False, True] == ended

    def test_where_the_platform_ends_the_run_we_do_not(self, store):
        """Our own note is left there as well."""
        open_place(store, marks_end=False).close(END)

        assert ([], [end_key("worker_0")]) == (store.list(END_KEY), store.list("end/"))

    def test_a_run_without_steps_has_its_collections(self, store):
        """So that a reader which waits for them goes on."""
        open_place(store).close(END)

        assert ["collections/000000000/worker_0_collections.json"] == store.list("collections/")


class TestTaken:
    @pytest.mark.parametrize("mark", MARKS)
    @pytest.mark.parametrize("num_workers", [1, 2])
    def test_what_smdebug_wrote_is_not_written_over(self, store, mark, num_workers):
        """Every trace of a run of its own takes the place, and nothing of it is changed."""
        store.put(mark, b"theirs")
        with pytest.raises(RunExists, match="already holds a run"):
            open_place(store, num_workers=num_workers)

        assert {mark: b"theirs"} == {key: store.get(key) for key in store.list()}

    def test_our_own_run_is_not_written_over(self, store):
        """Neither while it is written nor later."""
        writer = open_place(store)
        with pytest.raises(RunExists):
            open_place(store)
        writer.close(END)
        with pytest.raises(RunExists):
            open_place(store)

    def test_workers_may_begin_before_the_first(self, store):
        """What the others of the same run wrote does not take the place."""
        early = open_place(store, rank=1, num_workers=2)
        early.write(step_of({"w": np.ones(2)}, worker="worker_1"))
        early.flush()
        open_place(store, rank=0, num_workers=2)

        assert store.list(RUN_KEY)

    def test_a_worker_does_not_join_another_run(self, store):
        """One of another size, or in which it wrote before."""
        open_place(store, num_workers=3)
        with pytest.raises(RunExists):
            open_place(store, rank=1, num_workers=2)


class TestTakenOver:
    def test_a_run_whose_process_died_is_gone_on_with(self, store):
        """Its marks go, its steps stay until they are written again."""
        store.put(RUN_KEY, manifest(alive=False).to_json())
        store.put(CLAIM_KEY, b"")
        old = open_writer(RunTarget(open_store("memory://old"), "worker_0", manifest()))
        for step in range(2):
            old.write(step_of({"w": np.array([1.0])}, step))
            old.flush()
            for key in (event_key(step, "worker_0"), index_key(step, "worker_0")):
                store.put(key, open_store("memory://old").get(key))
        writer = open_place(store, over_unfinished=True)
        writer.write(step_of({"w": np.array([2.0])}, 1))
        writer.close(END)

        found = [tensors(store, event_key(step, "worker_0"))["w"].tolist() for step in range(2)]
        assert [[1.0], [2.0]] == found
        assert os.getpid() == Manifest.from_json(RUN_KEY, store.get(RUN_KEY)).pid

    def test_a_stale_claim_of_smdebug_is_taken_over(self, store):
        """smdebug itself would save nothing from then on, and not say so."""
        store.put(CLAIM_KEY, b"")
        open_place(store, over_unfinished=True).close(END)

        assert [] == store.list(CLAIM_KEY)

    @pytest.mark.parametrize(
        ("key", "data"),
        [
            (END_KEY, b""),
            (RUN_KEY, manifest().to_json()),
            (RUN_KEY, manifest(alive=False, run_format="native").to_json()),
        ],
        ids=["ended", "alive", "native"],
    )
    def test_what_ended_or_lives_is_not_taken_over(self, store, key, data):
        """Nor a run of another format, whose steps could not be replaced."""
        store.put(key, data)
        with pytest.raises(RunExists):
            open_place(store, over_unfinished=True)

        assert {key: data} == {name: store.get(name) for name in store.list()}

    def test_a_worker_joins_before_the_first_has_taken_over(self, store):
        """What is stale is not its concern; what ended is."""
        store.put(RUN_KEY, manifest(5, alive=False).to_json())
        open_place(store, rank=1, num_workers=2, over_unfinished=True)
        store.put(END_KEY, b"")
        with pytest.raises(RunExists):
            open_place(store, rank=1, num_workers=2, over_unfinished=True)

    def test_half_an_index_of_a_crash_does_no_harm(self, store, tmp_path):
        """smdebug appends to what a crash left beside the index, and no reader can read it."""
        stale = tmp_path / "run/index/000000000/000000000000_worker_0.json.tmp"
        stale.parent.mkdir(parents=True)
        stale.write_text('{"meta": {"mo')
        writer = open_place(store, over_unfinished=True)
        writer.write(step_of({"w": np.ones(1)}))
        writer.flush()

        assert store.get(index_key(0, "worker_0")).startswith(b'{"meta": {"mode": "TRAIN"')
