"""The process that reads a machine: at its interval, until its training is gone, never longer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stepwatch.capture.profiling import SamplerProcess
from stepwatch.formats.profile.reader import Machine
from stepwatch.formats.profile.tables import Clock
from stepwatch.profile.sampler import Sampler, alone, wait_until_ended
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Counts:
    """A device that counts how often it is read."""

    def __init__(self) -> None:
        self.count = 0

    def read(self):
        self.count += 1
        yield "cpu", "busy_percent", float(self.count)


class Breaks:
    """A device whose driver fails."""

    def read(self):
        raise RuntimeError("Xid 79")


class TestSampler:
    def test_a_device_that_fails_is_left_out_and_noted(self, tmp_path):
        """The others are read on."""
        store, counts = open_store(tmp_path), Counts()
        sampler = Sampler(store, Machine("here", interval_ms=500), [Breaks(), counts])

        sampler.read()
        sampler.read()
        sampler.close()

        profile = Profile(store)
        assert [1.0, 2.0] == profile.system().column("value").to_pylist()
        assert ["here: breaks is read no more: RuntimeError('Xid 79')"] == profile.notes

    def test_a_store_that_is_away_costs_what_was_read(self, tmp_path, monkeypatch):
        """It is not kept for ever, and what is read later is stored."""
        from stepwatch.errors import StoreError

        store = open_store(tmp_path)
        sampler = Sampler(store, Machine("here", interval_ms=500), [Counts()])
        put = store.put

        def refuse(key, data):
            raise StoreError("away")

        monkeypatch.setattr(store, "put", refuse)
        sampler.read()
        sampler.store()
        monkeypatch.setattr(store, "put", put)
        sampler.read()
        sampler.close()

        assert [2.0] == Profile(store).system().column("value").to_pylist()

    def test_it_reads_less_often_where_that_takes_too_much(self, tmp_path):
        """Its own cost is bounded, and the change is noted."""
        hand = {"now": 0}
        clock = Clock(lambda: hand["now"], lambda: hand["now"])
        store = open_store(tmp_path)
        sampler = Sampler(store, Machine("here", interval_ms=10), [Counts()], clock)
        until = time.process_time() + 0.2
        while time.process_time() < until:
            sum(range(1_000))
        hand["now"] = 31_000_000_000

        sampler.read()

        assert 20_000_000 == sampler.interval_ns
        assert "every 0.02 s" in Profile(store).notes[0]

    def test_a_clock_that_is_set_back_loses_no_reading(self, tmp_path):
        """Readings after it are told at the times that the machine had then."""
        hand = {"ticks": 0, "wall": 10_000_000_000}
        clock = Clock(lambda: hand["ticks"], lambda: hand["wall"])
        store = open_store(tmp_path)
        sampler = Sampler(store, Machine("here", interval_ms=500), [Counts()], clock)
        for wall in (0, 3, -3_600, -3_597):
            hand["ticks"] += 3_000_000_000
            hand["wall"] = (7_200 + wall) * 1_000_000_000
            sampler.read()
        sampler.close()

        assert 4 == len(Profile(store).system())


class TestAlone:
    @pytest.mark.skipif(sys.platform != "linux", reason="names in no folder are Linux's")
    def test_one_holds_a_name_at_a_time(self):
        """The second is told so; the name is free when the first has ended."""
        with alone("test") as first, alone("test") as second:
            assert (True, False) == (first, second)
        with alone("test") as third:
            assert third


TRAINING = """
import sys, time
from stepwatch.capture.profiling import SamplerProcess
from stepwatch.store import open_store
process = SamplerProcess(open_store(sys.argv[1]))
process.start(100)
print(process._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
class TestProcess:
    def test_it_reads_and_ends_when_it_is_told_to(self, tmp_path):
        """What it gathered is stored, and that it ended."""
        store = open_store(tmp_path / "run")
        process = SamplerProcess(store)
        process.start(100)
        wait_for(lambda: len(Profile(store).system()) > 0)
        process.stop()

        profile = Profile(store)
        node = next(iter(profile.machines.values()))
        assert node.ended_ns is not None
        assert node.cores == os.cpu_count()
        devices = set(profile.system().column("device").to_pylist())
        assert {"cpu", "cpu0", "memory", "network", "process", "sampler"} <= devices

    def test_it_ends_with_a_training_that_is_killed(self, tmp_path):
        """However a training ends, nobody is left behind."""
        store = open_store(tmp_path / "run")
        training = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(tmp_path / "run")], stdout=subprocess.PIPE
        )
        pid = int(training.stdout.readline())
        wait_for(lambda: len(Profile(store).system()) > 0)

        training.kill()
        training.communicate()

        assert wait_until_ended(str(tmp_path / "run"), 60)
        assert next(iter(Profile(store).machines.values())).ended_ns is not None
        wait_for(lambda: not Path(f"/proc/{pid}").exists())

    def test_one_that_is_killed_is_noted(self, tmp_path):
        """The training goes on, and a reader knows that nothing more will come."""
        store = open_store(tmp_path / "run")
        process = SamplerProcess(store)
        process.start(100)
        wait_for(lambda: len(Profile(store).system()) > 0)
        os.kill(process._process.pid, signal.SIGKILL)
        process._process.wait()

        profile = Profile(store)
        assert len(profile.system()) > 0
        assert any("gone without a word" in note for note in profile.notes)
        process.stop()

    def test_files_beside_a_script_are_not_taken_for_python_s_own(self, tmp_path, monkeypatch):
        """A folder with a ``random.py`` is none of the sampler's business."""
        for name in ("random", "psutil", "socket", "queue"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')")
        monkeypatch.chdir(tmp_path)
        store = open_store(tmp_path / "run")
        process = SamplerProcess(store)
        process.start(100)
        wait_for(lambda: len(Profile(store).system()) > 0)
        process.stop()


class TestSamplerProcess:
    def test_without_psutil_there_is_a_note(self, tmp_path, monkeypatch):
        """It says how to get it; the training goes on."""
        monkeypatch.setattr("stepwatch.capture.profiling.find_spec", lambda _: None)
        store = open_store(tmp_path)

        process = SamplerProcess(store)
        process.start(500)
        process.stop()

        assert "pip install 'stepwatch[profiler]'" in Profile(store).notes[0]

    def test_a_run_in_memory_has_no_sampler(self):
        """No other process could write to it."""
        process = SamplerProcess(open_store("memory://no-sampler"))
        process.start(500)

        assert process._process is None
