"""The recorder: hands steps to the background, loses nothing in silence, stops no training."""

from __future__ import annotations

import errno
import itertools
import json
import logging
import threading
import time

import numpy as np
import pytest

from stepwatch.capture import Recorder, in_process
from stepwatch.capture.in_process import InProcess
from stepwatch.capture.output import Output
from stepwatch.errors import RunExists, StoreError
from stepwatch.model.record import Layout, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.trial import Trial

_numbers = itertools.count()


@pytest.fixture
def url():
    return f"memory://recorder-{next(_numbers)}"


def observe(recorder, value, mode=Mode.TRAIN, name="w"):
    array = np.array([value, -value], np.float32)
    recorder.open_step(mode).add(TensorInfo(name, "weights", "float32", (2,)), array)
    return recorder.end_step(mode)


class TestSteps:
    def test_what_was_observed_is_what_a_trial_reads(self, url):
        """Steps, modes, statistics, raw values and the end."""
        recorder = Recorder(url, policy="weights:raw:every=2", rank=(0, 1), command=["train.py"])
        for step in range(4):
            observe(recorder, step)
            observe(recorder, 10 + step, Mode.EVAL)
        recorder.close()
        trial = Trial(url)

        assert ("finished", list(range(8))) == (trial.state, trial.steps())
        assert [0, 1, 2, 3] == trial.steps(Mode.EVAL)
        assert [10, 11, 12, 13] == trial.tensor("w").statistics(Mode.EVAL)["max"].tolist()
        assert [2, -2] == trial.tensor("w").value(2, Mode.TRAIN).tolist()
        assert ("train.py",) == trial.reader.manifest.command

    def test_a_step_without_an_observation_is_counted_and_not_recorded(self, url):
        """Global steps count every batch."""
        recorder = Recorder(url, policy="weights:statistics:every=3", rank=(0, 1))
        found = [observe(recorder, step) is not None for step in range(7)]
        assert recorder.end_step(Mode.TRAIN) is None
        recorder.close()

        assert [True, False, False, True, False, False, True] == found
        assert [0, 3, 6] == Trial(url).steps()

    def test_the_end_counts_the_steps_of_each_mode(self, url):
        """Of batches that are only predicted, a budget observes the first and then few."""
        recorder = Recorder(url, policy="weights:statistics:every=3", rank=(0, 1))
        for step in range(5):
            observe(recorder, step)
            observe(recorder, step, Mode.PREDICT)
        recorder.end_step(Mode.EVAL)  # none was open
        end = recorder.close()

        assert {"TRAIN": 5, "PREDICT": 5} == end.counted
        assert "2 of 5 TRAIN observed, 2 of 5 PREDICT observed" == Trial(url).steps_by_mode()

    def test_listeners_get_steps_in_order_where_some_wake_nobody(self, url, monkeypatch):
        """Here the thread ticks after each step, and comes to the second when all have ended."""
        monkeypatch.setattr(in_process, "TICK_S", 0.0)
        have_ended = threading.Event()
        seen = []

        class Slow:
            def start(self, *_):
                pass

            def on_step(self, record):
                seen.append(record.step)
                have_ended.wait(30)

            def finish(self):
                pass

        recorder = Recorder(url, rank=(0, 1), listeners=[Slow()])
        losses = Layout((TensorInfo("loss", "losses", "float32", ()),))
        for step in range(12):
            if step % 3:
                recorder.take_scalars(losses, (1.0,))
            else:
                observe(recorder, step)
        have_ended.set()
        recorder.close()

        assert list(range(12)) == seen

    def test_the_open_step_is_closed_at_the_end(self, url):
        """What was observed is stored."""
        recorder = Recorder(url, rank=(0, 1))
        recorder.open_step(Mode.TRAIN).add(TensorInfo("w", "weights", "float32", ()), np.ones(()))
        end = recorder.close()

        assert (1, [0]) == (end.steps, Trial(url).steps())

    def test_a_step_moves_between_modes(self, url):
        """Observations may begin before it is known what they belong to."""
        recorder = Recorder(url, rank=(0, 1))
        step = recorder.new_step(Mode.TRAIN)
        assert recorder.move(step, Mode.EVAL) is None
        assert step is recorder.move(None, Mode.EVAL)
        assert not recorder.is_open(Mode.EVAL)
        recorder.close()

    def test_closing_again_returns_the_same_note(self, url):
        """A hook and its script may both close."""
        recorder = Recorder(url, rank=(0, 1))
        end = recorder.close("failed", "boom")

        assert end is recorder.close()
        assert ("failed", True) == (Trial(url).state, recorder.closed)


class TestConstruction:
    def test_a_tick_during_a_slow_start_finds_the_recorder_complete(self, url, monkeypatch):
        """The thread ticks while a slow disk still makes room for the black box."""
        ticked = threading.Event()
        tick = InProcess._tick

        def tick_and_say(recorder):
            try:
                tick(recorder)
            finally:
                ticked.set()

        def open_slowly(*_):
            assert ticked.wait(10)

        monkeypatch.setattr("stepwatch.capture.in_process.TICK_S", 0.01)
        monkeypatch.setattr(InProcess, "_tick", tick_and_say)
        monkeypatch.setattr(Output, "open_black_box", open_slowly)
        end = Recorder(url, rank=(0, 1)).close()

        assert (0, "") == (end.failures, end.error)


class TestSmdebugFormat:
    @pytest.mark.parametrize(("run_format", "times"), [("native", 0), ("smdebug", 1)])
    def test_what_it_has_no_place_for_is_said(self, tmp_path, caplog, run_format, times):
        """Once, of what was asked for; not of what is saved by default."""
        with caplog.at_level(logging.WARNING, "stepwatch"):
            Recorder(
                tmp_path / "run",
                policy=["weights:digest", "gradients:exponents:every=5"],
                output=Output(format=run_format),
                rank=(0, 1),
            ).close()

        said = "no place for digests of weights, exponents of gradients"
        assert times == sum(said in record.getMessage() for record in caplog.records)


class TestRunExists:
    def test_a_folder_that_holds_a_run_is_refused_and_nothing_changed(self, tmp_path):
        """Not one file, not one byte."""
        recorder = Recorder(tmp_path, rank=(0, 1))
        observe(recorder, 1)
        recorder.close()
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

        for rank in (0, 1):
            with pytest.raises(RunExists, match="give another --run"):
                Recorder(tmp_path, rank=(rank, 2))
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert before == after

    def test_workers_of_one_job_share_the_folder(self, url):
        """In whatever order they come."""
        ranks = [(1, 2), (0, 2)]
        recorders = [Recorder(url, rank=rank) for rank in ranks]
        for recorder in recorders:
            observe(recorder, 1)
            recorder.close()

        assert ("worker_0", "worker_1") == Trial(url).workers
        assert ("finished", [0]) == (Trial(url).state, Trial(url).steps())

    def test_a_place_that_cannot_be_written_to_is_refused_before_training(self, tmp_path):
        """The message says why."""
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError, match="Not a directory"):
            Recorder(tmp_path / "file" / "run", rank=(0, 1))


class Listener:
    """Notes what it is told; fails where asked."""

    def __init__(self, fails_at=()):
        self.fails_at, self.seen, self.finished = fails_at, [], False

    def start(self, store, worker, patterns):
        self.patterns = dict(patterns)

    def on_step(self, record):
        self.seen.append(record.step)
        if record.step in self.fails_at:
            raise ZeroDivisionError(f"at step {record.step}")

    def finish(self):
        self.finished = True
        if self.fails_at:
            raise ZeroDivisionError("at the end")


class TestListeners:
    def test_one_that_fails_takes_nothing_from_the_others(self, url):
        """Every listener sees every step, every step is stored, and the failures are counted."""
        broken, other = Listener(fails_at=(1, 2)), Listener()
        recorder = Recorder(url, listeners=[broken, other], rank=(0, 1), policy="/w/:raw")
        for step in range(4):
            observe(recorder, step)
        end = recorder.close()

        assert [0, 1, 2, 3] == broken.seen == other.seen == Trial(url).steps()
        assert broken.finished
        assert other.finished
        assert ("finished", 0, 3, "at step 1") == (end.state, end.dropped, end.failures, end.error)
        assert end == Trial(url).reader.ends()["worker_0"]
        assert {"/w/": ("w",)} == other.patterns

    def test_a_step_is_looked_at_before_it_is_stored(self, url):
        """No disk between a NaN and its alarm."""
        stored = []

        class Looks(Listener):
            def on_step(self, record):
                stored.append(len(open_store(url).list("observations/")))

        recorder = Recorder(url, listeners=[Looks()], rank=(0, 1))
        observe(recorder, 1)
        recorder.close()
        assert [0] == stored


class FullDisk:
    """Lets a store refuse parts while it is full; the note at the end is small enough."""

    def __init__(self, store):
        self.full, self._put = False, store.put
        store.put = self.put

    def put(self, key, data):
        if self.full and not key.startswith("end/"):
            raise StoreError(f"cannot write {key}: No space left on device")
        self._put(key, data)


class TestFullDisk:
    def test_training_goes_on_and_losses_are_counted(self, url, caplog, monkeypatch):
        """Said once, in one line; the note tells how many steps are missing."""
        monkeypatch.setattr("stepwatch.formats.native.writer.GATHER_S", 0)
        recorder = Recorder(url, rank=(0, 1))
        disk = FullDisk(recorder.store)
        with caplog.at_level(logging.ERROR, "stepwatch"):
            for step in range(9):
                disk.full = 3 <= step < 7
                assert observe(recorder, step) is not None
                recorder.flush(10)
        end = recorder.close()

        assert (9, 4, 4) == (end.steps, end.dropped, end.failures)
        assert 1 == len(caplog.records)
        assert "cannot write observations" in end.error
        assert "No space left on device" in end.error
        assert "\n" not in end.error
        assert [0, 1, 2, 7, 8] == Trial(url).steps()
        assert end == Trial(url).reader.ends()["worker_0"]

    def test_a_disk_that_is_full_at_the_very_end_is_told_in_the_note(self, url, caplog):
        """The last flush fails: its steps are counted before the note is written."""
        recorder = Recorder(url, rank=(0, 1))
        disk = FullDisk(recorder.store)
        for step in range(5):
            observe(recorder, step)
        disk.full = True
        with caplog.at_level(logging.ERROR, "stepwatch"):
            end = recorder.close()

        assert (5, 1) == (end.dropped, end.failures)
        assert end == Trial(url).reader.ends()["worker_0"]
        assert 1 == len(caplog.records)
        assert "training goes on" in caplog.text

    def test_a_real_refusal_has_its_number(self, tmp_path, monkeypatch):
        """From the file system through the store to the note."""
        recorder = Recorder(tmp_path, rank=(0, 1))

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        observe(recorder, 1)
        monkeypatch.setattr("stepwatch.store.local.write_new", refuse)
        end = recorder.close()
        assert 1 == end.dropped
        assert end.error.endswith("No space left on device")


class TestSlowStore:
    def test_steps_that_do_not_fit_are_dropped_and_counted(self, url, monkeypatch):
        """A store that hangs costs steps, bounded time, and never training."""
        recorder = Recorder(url, rank=(0, 1), policy="weights:raw")
        recorder._carrier.background._depth_bytes, recorder._carrier.background._patience = (
            2_000,
            0.05,
        )
        hold, write = threading.Event(), recorder._writers[0].write
        monkeypatch.setattr(
            recorder._writers[0], "write", lambda record: (hold.wait(), write(record))
        )
        for step in range(100):
            observe(recorder, step)  # while the store still hangs
        hold.set()
        end = recorder.close()

        assert 100 == end.steps
        assert 0 < end.dropped < 100
        assert 100 - end.dropped == len(Trial(url).steps())
        assert end == Trial(url).reader.ends()["worker_0"]

    def test_the_note_is_written_though_one_huge_step_fills_the_queue(self, url, monkeypatch):
        """It waits until there is room."""
        recorder = Recorder(url, rank=(0, 1), policy="weights:raw")
        background = recorder._carrier.background
        background._depth_bytes, background._patience = 10, 0.01
        write = recorder._writers[0].write
        monkeypatch.setattr(
            recorder._writers[0], "write", lambda record: (time.sleep(0.2), write(record))
        )
        observe(recorder, 1)
        recorder.close()

        assert "finished" == Trial(url).state

    def test_close_returns_though_the_store_hangs(self, url, monkeypatch):
        """Within its timeout; what was not stored is counted."""
        monkeypatch.setattr("stepwatch.capture.recorder.CLOSE_TIMEOUT_S", 0.2)
        recorder = Recorder(url, rank=(0, 1))
        hold = threading.Event()
        monkeypatch.setattr(recorder._writers[0], "write", lambda record: hold.wait())
        for step in range(3):
            observe(recorder, step)
        end = recorder.close()  # while it still hangs
        hold.set()

        assert 2 == end.dropped


class TestNote:
    def test_run_json_says_who_writes(self, url):
        """Anyone can read it."""
        Recorder(url, rank=(0, 4), versions={"torch": "9"}).close()
        values = json.loads(open_store(url).get("run.json"))

        assert ("stepwatch", 1, 4) == (values["format"], values["version"], values["num_workers"])
        assert {"python", "torch"} == set(values["versions"])

    def test_it_has_the_versions_of_what_trains(self, url):
        """Not of what was imported first, whose hook began the run."""
        recorder = Recorder(url, versions={"stepwatch": "1", "jax": "9"})
        recorder.trained_by({"keras": "3", "tensorflow": "2"})
        before = json.loads(open_store(url).get("run.json"))
        recorder.trained_by({"torch": "8"})
        recorder.close()
        after = json.loads(open_store(url).get("run.json"))

        assert ["python", "stepwatch", "keras", "tensorflow"] == list(before["versions"])
        assert [*before["versions"], "torch"] == list(after["versions"])
