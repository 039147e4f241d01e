"""Which steps there are, and which are complete."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from stepwatch.errors import RunNotFound, StepUnavailable
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.steps import Mode
from stepwatch.runtime.process import identity
from stepwatch.store.memory import MemoryStore
from stepwatch.testing import make_run
from stepwatch.testing.made_runs import make_record
from stepwatch.trial import Trial

_numbers = itertools.count()


class Run:
    """A run under our hands: writers of several workers, and a trial of it."""

    def __init__(self, workers: int = 1, **manifest: object) -> None:
        self.store = MemoryStore(f"trial-{next(_numbers)}")
        start_run(self.store, Manifest("run", 0, num_workers=workers, **manifest))
        self.writers = [NativeWriter(self.store, f"worker_{rank}") for rank in range(workers)]
        self.trial = Trial(self.store)

    def write(self, *steps: int, rank: int = 0, mode: Mode = Mode.TRAIN, mode_step=None) -> None:
        for step in steps:
            self.writers[rank].write(
                make_record(
                    step, {"w": [float(step), rank]}, worker=f"worker_{rank}",
                    mode=mode, mode_step=mode_step,
                )
            )  # fmt: skip
        self.writers[rank].flush()
        self.trial.refresh()

    def end(self, rank: int = 0, state: str = "finished") -> None:
        self.writers[rank].close(End(state, 0))
        self.trial.refresh()


class TestModes:
    @pytest.fixture
    def trial(self):
        run = Run()
        for step in range(6):
            mode = Mode.EVAL if step in (2, 5) else Mode.TRAIN
            run.write(step, mode=mode, mode_step={2: 0, 5: 1}.get(step, step - (step > 2)))
        return run.trial

    def test_each_mode_counts_its_own_steps(self, trial):
        """And GLOBAL counts them all."""
        assert [0, 1, 2, 3, 4, 5] == trial.steps()
        assert [0, 1, 2, 3] == trial.steps(Mode.TRAIN)
        assert [0, 1] == trial.steps("EVAL")
        assert [] == trial.steps(Mode.PREDICT)

    def test_modes_are_those_that_have_a_step(self, trial):
        """In the order of ``Mode``."""
        assert (Mode.TRAIN, Mode.EVAL) == trial.modes

    def test_a_tensor_has_its_steps_in_every_count(self, trial):
        """Global steps, or those of the mode."""
        assert [2, 5] == trial.tensor("w").statistics("EVAL").steps.tolist()
        assert [0, 1] == trial.tensor("w").steps("EVAL")
        assert [0, 1] == trial.tensor("w").statistics("EVAL").mode_steps.tolist()

    def test_a_run_without_a_step_is_empty(self):
        """It has no modes, workers, tensors or steps; that is no error."""
        trial = Run().trial

        assert ([], (), (), []) == (trial.steps(), trial.modes, trial.workers, trial.tensor_names())
        assert "running" == trial.state
        assert [] == list(trial.records())


class TestSeveralWorkers:
    def test_a_step_is_complete_when_every_worker_shows_it_or_a_later_one(self):
        """The last ones of the fast worker wait for the slow one."""
        run = Run(workers=2)
        run.write(0, 1, 2, 3, rank=0)
        assert [] == run.trial.steps()

        run.write(0, 2, rank=1)
        assert [0, 1, 2] == run.trial.steps()
        assert [0, 1, 2, 3] == run.trial.steps(incomplete=True)

    def test_a_worker_that_ended_is_not_waited_for(self):
        """What is missing of it will never come."""
        run = Run(workers=2)
        run.write(0, 1, 2, 3, rank=0)
        run.write(0, rank=1)
        run.end(rank=1)

        assert [0, 1, 2, 3] == run.trial.steps()
        assert "running" == run.trial.state

    def test_a_worker_that_ended_without_a_step_is_not_waited_for(self):
        """It only left its note."""
        run = Run(workers=2)
        run.write(0, 1, rank=0)
        run.end(rank=1)

        assert [0, 1] == run.trial.steps()

    def test_rows_hold_what_every_worker_saw(self):
        """Ascending by step, then in the order of ranks; or of one worker."""
        run = Run(workers=2)
        run.write(0, 1, rank=1)
        run.write(0, 1, rank=0)
        series = run.trial.tensor("w").statistics()

        assert [0, 0, 1, 1] == series.steps.tolist()
        assert ["worker_0", "worker_1"] * 2 == series.workers
        assert [0.0, 1.0] == run.trial.tensor("w").statistics(worker="worker_1")["min"].tolist()

    def test_records_join_what_the_workers_saw_of_a_step(self):
        """A step that one of them did not record has one record."""
        run = Run(workers=2)
        run.write(0, 1, 2, rank=0)
        run.write(0, 2, rank=1)
        found = [[(one.step, one.worker) for one in step] for step in run.trial.records()]

        both = ["worker_0", "worker_1"]
        assert [(0, both), (1, both[:1]), (2, both)] == [
            (step[0][0], [worker for _, worker in step]) for step in found
        ]

    def test_the_tenth_worker_comes_after_the_second(self):
        """Ranks are numbers, not text."""
        run = Run(workers=11)
        for rank in (10, 2, 0):
            run.write(0, rank=rank)

        assert ("worker_0", "worker_2", "worker_10") == run.trial.workers


class TestState:
    @pytest.mark.parametrize("state", ["finished", "failed", "stopped", "interrupted"])
    def test_is_what_the_worker_noted(self, state):
        """And then nothing more will be written."""
        run = Run()
        assert ("running", False) == (run.trial.state, run.trial.ended)

        run.end(state=state)
        assert (state, True) == (run.trial.state, run.trial.ended)

    def test_the_worst_of_several_workers_counts(self):
        """One that failed makes a failed run."""
        run = Run(workers=3)
        for rank, state in enumerate(["finished", "failed", "stopped"]):
            run.end(rank, state)

        assert "failed" == run.trial.state

    def test_a_run_whose_process_is_gone_died_and_shows_its_steps(self):
        """Also those that another worker has yet to show: they will never come."""
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        host = {"host": socket.gethostname(), "pid": process.pid, "process": identity(process.pid)}
        run = Run(workers=2, **host)
        run.write(0, 1, 2, rank=0)
        run.write(0, 1, rank=1)
        assert ("running", [0, 1]) == (run.trial.state, run.trial.steps())

        process.communicate(b"\n")
        run.trial.refresh()
        assert ("died", True, [0, 1, 2]) == (run.trial.state, run.trial.ended, run.trial.steps())

    def test_a_run_of_this_process_runs(self):
        """We are alive."""
        run = Run(host=socket.gethostname(), pid=os.getpid(), process=identity())

        assert "running" == run.trial.state

    def test_a_dead_process_that_left_its_note_did_not_die(self):
        """It finished."""
        run = Run(host=socket.gethostname(), pid=2**22 + 1)
        assert "died" == run.trial.state

        run.end()
        assert "finished" == run.trial.state


class TestRefresh:
    def test_shows_what_was_written_since_and_not_before(self):
        """A trial is a view of one moment."""
        run = Run()
        run.write(0, 1)
        other = Trial(run.store)
        run.write(2)
        assert [0, 1] == other.steps()

        other.refresh()
        assert [0, 1, 2] == other.steps()

    def test_no_run_is_no_trial(self):
        """The message says where it looked."""
        with pytest.raises(RunNotFound, match="memory://nothing"):
            Trial("memory://nothing")


class TestWaitForSteps:
    def test_returns_at_once_when_they_are_there(self):
        """Without a refresh."""
        run = Run()
        run.write(0, 1, 2)
        run.trial.wait_for_steps([0, 2], timeout=0)
        run.trial.wait_for_steps([], timeout=0)

    def test_returns_when_they_come(self):
        """From another thread or process."""
        run = Run()
        other = threading.Thread(target=lambda: run.write(0, 1))
        waiting = Trial(run.store)
        other.start()
        waiting.wait_for_steps([1], timeout=10)
        other.join()

        assert [0, 1] == waiting.steps()

    def test_a_step_that_was_passed_over_will_not_come(self):
        """The message names the nearest."""
        run = Run()
        run.write(0, 10, 20)

        with pytest.raises(StepUnavailable, match=r"step 12 of mode GLOBAL .* nearest .* is 10"):
            run.trial.wait_for_steps([12])

    def test_a_step_after_the_end_will_not_come(self):
        """Nor any of a mode that never was."""
        run = Run()
        run.write(0, 1)
        run.end()

        with pytest.raises(StepUnavailable, match="nearest saved step is 1"):
            run.trial.wait_for_steps([7])
        with pytest.raises(StepUnavailable, match="ended without a step of mode EVAL"):
            run.trial.wait_for_steps([0], mode="EVAL")

    def test_waiting_ends_with_its_timeout(self):
        """And says what did not come."""
        run = Run()
        with pytest.raises(TimeoutError, match=r"step 3 of mode TRAIN did not come within 0.05 s"):
            run.trial.wait_for_steps([3], mode="TRAIN", timeout=0.05)


class TestFollow:
    def test_yields_every_step_once_until_the_run_ends(self):
        """Those that are there, those that come, and then it stops."""
        run = Run()
        run.write(0, 1)
        trial = Trial(run.store)
        follow = trial.records(follow=True)
        assert [0, 1] == [next(follow)[0].step for _ in range(2)]

        run.write(2)
        assert 2 == next(follow)[0].step
        run.write(3)
        run.end()
        assert [3] == [step[0].step for step in follow]

    def test_after_leaves_out_what_was_seen(self):
        """So that a watcher goes on where it was."""
        trial = Trial(make_run(f"memory://after-{next(_numbers)}", steps=6))

        assert [4, 5] == [step[0].step for step in trial.records(after=3)]

    def test_records_come_back_with_their_numbers(self):
        """Layout, statistics and raw values."""
        trial = Trial(make_run(f"memory://raw-{next(_numbers)}", steps=2, raw=True))
        ((first,), _) = trial.records()

        assert first.statistics.shape == (5, 11)
        assert set(first.layout.row_of) == set(first.raw)
        assert np.float32(1) == first.raw["loss/mse_loss"]
