"""A copy of a run is a run at any moment, and in the end the same."""

from __future__ import annotations

import itertools
import random

import pytest

from stepwatch import store as pieces
from stepwatch.errors import RunExists, StoreError
from stepwatch.formats import RunTarget, copying, find_resume_point, open_writer
from stepwatch.formats.copying import RunCopy
from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native.merge import merge_parts
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.resume import resumed_manifest
from stepwatch.store.memory import MemoryStore
from stepwatch.trial import Trial
from tests.support.formats.copied_runs import Looking, Refusing, WrittenRun, contents, copied

_numbers = itertools.count()
FORMATS = ("native", "smdebug")


@pytest.fixture
def name():
    return f"copying-{next(_numbers)}"


@pytest.mark.slow
class TestOrder:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("format", FORMATS)
    def test_a_reader_of_the_copy_sees_a_run_at_any_moment(self, name, format, seed):
        """Whatever was merged meanwhile: all steps up to one, each with its values."""
        target = Looking(f"{name}-copy")
        source, copy = copied(name, target)
        run, dice = WrittenRun(source, format), random.Random(seed)
        for _ in range(60):
            run.step()
            if dice.random() < 0.08:
                copy.advance()
        run.end()
        copy.advance()

        for _, steps, values in target.seen:
            assert list(range(len(steps))) == steps
            assert [float(step) for step in steps] == values
        counts = [len(steps) for _, steps, _ in target.seen]
        assert sorted(counts) == counts
        assert {60} == {len(steps) for state, steps, _ in target.seen if state == "finished"}
        assert contents(source) == contents(target)

    @pytest.mark.parametrize("moment", ["looked for", "copied"])
    def test_what_is_merged_away_while_it_is_copied_is_followed_by_its_successor(
        self, name, moment, monkeypatch
    ):
        """No later part comes before it: readers would take the hole for a loss."""
        target = Looking(f"{name}-copy")
        source, copy = copied(name, target)
        run = WrittenRun(source)
        for _ in range(7):
            run.step()
        place, method = (source, "size") if moment == "looked for" else (target, "put")
        call = getattr(place, method)

        def merge_first(*arguments):
            monkeypatch.undo()
            reader = NativeReader(MemoryStore(name))
            reader.refresh()
            merge_parts(source, reader.parts("worker_0")[:6])
            return call(*arguments)

        monkeypatch.setattr(place, method, merge_first)
        copy.advance()
        copy.advance()

        for _, steps, _ in target.seen:
            assert list(range(len(steps))) == steps
        assert contents(source) == contents(target)

    def test_a_large_value_goes_in_pieces(self, name, monkeypatch):
        """No more than one of them is read at once."""
        for module in (copying, pieces):
            monkeypatch.setattr(module, "PIECE_BYTES", 10)
        source, target = MemoryStore(name), MemoryStore(f"{name}-copy")
        read, lengths = source.get, []
        source.get = lambda key, start=0, length=None: (
            lengths.append(length if key.startswith("checkpoints/") else None),
            read(key, start, length),
        )[1]
        source.put("checkpoints/worker_0-3.pt", bytes(range(95)))
        RunCopy(source, target).advance()

        assert bytes(range(95)) == target.get("checkpoints/worker_0-3.pt")
        assert {10} == {length for length in lengths if length}


class TestRefusal:
    @pytest.mark.parametrize("most", [copying.MOST_KEYS, 7], ids=["noted", "listed"])
    @pytest.mark.parametrize("format", FORMATS)
    def test_a_network_that_was_away_costs_nothing_but_time(self, name, format, most, monkeypatch):
        """All is there in the end, whether what waits is still remembered or must be listed."""
        monkeypatch.setattr(copying, "MOST_KEYS", most)
        target = Refusing(f"{name}-copy")
        source, copy = copied(name, target)
        run = WrittenRun(source, format)
        for number in range(40):
            run.step()
            target.is_away = 5 <= number < 35
            if target.is_away:
                with pytest.raises(StoreError):
                    copy.advance()
                assert copy.waiting <= 2 * most + 1
            else:
                copy.advance()
        run.end()
        copy.advance()

        assert target.refused >= 30
        assert 0 == copy.waiting
        assert contents(source) == contents(target)

    @pytest.mark.parametrize("format", FORMATS)
    def test_what_went_when_a_run_was_taken_up_goes_there_too(self, name, format):
        """Steps that were not trained again, notes of the end, findings; nothing of others."""
        source, target = MemoryStore(name), MemoryStore(f"{name}-copy")
        run = WrittenRun(source, format)
        for _ in range(12):
            run.step()
        run.end()
        source.put("findings/worker_0.jsonl", b"")
        RunCopy(source, target).advance()
        target.put("findings/watch-1.jsonl", b"")
        start, there = find_resume_point(source, 5, 1, is_first=True)
        again = resumed_manifest(there, there, start)
        open_writer(RunTarget(source, "worker_0", again, start=start))
        RunCopy(source, target, worker="worker_0").advance()

        assert list(range(5)) == Trial(target).steps()
        assert contents(source) | {"findings/watch-1.jsonl": b""} == contents(target)

    def test_what_was_broken_off_is_taken_up_by_listing(self, name):
        """By another process, which knows nothing; what changes is compared."""
        target = Refusing(f"{name}-copy")
        source, copy = copied(name, target)
        run = WrittenRun(source)
        for _ in range(25):
            run.step()
            copy.advance()
        source.put("findings/worker_0.jsonl", b"one\n")
        copy.advance()
        source.put("findings/worker_0.jsonl", b"one\ntwo\n")
        for _ in range(25):
            run.step()
        run.end()
        again = RunCopy(source, target)
        again.advance()

        assert contents(source) == contents(target)
        before = again.copied
        again.note("findings/worker_0.jsonl")  # and yet it is the same
        again.advance()
        assert before == again.copied


class TestWorkers:
    def test_each_worker_copies_what_is_its_own(self, name):
        """Two of one run, with a folder each; the copy is the whole."""
        target = MemoryStore(f"{name}-copy")
        for rank in (0, 1):
            source, copy = copied(f"{name}-{rank}", target, worker=f"worker_{rank}")
            run = WrittenRun(source, num_workers=2, rank=rank)
            for _ in range(12):
                run.step()
            run.end()
            copy.advance()
            RunCopy(source, target).advance()  # and by listing nothing of the other goes

        trial = Trial(target)
        assert ("finished", ("worker_0", "worker_1")) == (trial.state, trial.workers)
        assert list(range(12)) == trial.steps()
        assert [2] * 12 == [len(records) for records in trial.records()]

    def test_by_listing_a_worker_leaves_the_others_alone(self, name):
        """In a folder that all of them share."""
        source, target = MemoryStore(name), MemoryStore(f"{name}-copy")
        for rank in (0, 1):
            WrittenRun(source, num_workers=2, rank=rank).step()
        RunCopy(source, target, worker="worker_1", is_first=False).advance()

        assert {"worker_1"} == {copying.worker_of(key) for key in target.list()}

    def test_another_run_is_left_as_it_is(self, name):
        """Nothing is copied over it."""
        source, target = MemoryStore(name), MemoryStore(f"{name}-copy")
        WrittenRun(source).step()
        WrittenRun(target, run_id="another").step()
        before = contents(target)
        with pytest.raises(RunExists, match="another run"):
            RunCopy(source, target).advance()

        assert before == contents(target)


class TestForeign:
    """What lies at the target and is not from here is left alone."""

    @pytest.mark.parametrize("known", ["neither", "source", "target"])
    def test_a_run_that_says_not_which_it_is_is_not_mixed_with_another(self, name, known):
        """Runs of smdebug have no name, and their files are called alike."""
        source, target = MemoryStore(f"{name}-here"), MemoryStore(f"{name}-there")
        for store, text in ((source, b"ours"), (target, b"theirs")):
            store.put("events/000000000000/000000000000_worker_0.tfevents", text)
            store.put("collections/000000000000/worker_0_collections.json", b"{}")
        if known != "neither":
            named = Manifest(run_id="a", started_ns=0).to_json()
            (source if known == "source" else target).put("run.json", named)
        before = contents(target)

        with pytest.raises(RunExists, match="already holds another run"):
            RunCopy(source, target).advance()
        assert before == contents(target)

    def test_a_copy_that_was_broken_off_goes_on(self, name):
        """What is there is the beginning of what is here."""
        source, target = MemoryStore(f"{name}-here"), MemoryStore(f"{name}-there")
        for step in range(3):
            source.put(f"events/{step:012}/{step:012}_worker_0.tfevents", bytes([step]))
        first = source.list()[0]
        target.put(first, source.get(first))
        RunCopy(source, target).advance()

        assert contents(source) == contents(target)
