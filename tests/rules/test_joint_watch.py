"""Workers of one run that are compared while they train, by the first of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.actions.policy import parse_actions
from stepwatch.actions.reactions import Reactions
from stepwatch.formats.manifest import (
    RUN_KEY,
    End,
    Manifest,
    Process,
    read_manifest,
    write_process,
)
from stepwatch.formats.native.writer import NativeWriter, start_run, truncate
from stepwatch.judge.evaluate import evaluate
from stepwatch.judge.joint import JointWatch
from stepwatch.judge.live import LiveWatch
from stepwatch.model.finding import Finding
from stepwatch.model.steps import Mode
from stepwatch.rules import parse_rules
from stepwatch.store import open_store
from stepwatch.trial import Trial
from stepwatch.trial.joint_steps import SILENT_S
from tests.support.rules.made_steps import full_record

TICK_S = 0.25
RULE = "replica_divergence"


class CountedStore:
    """A store that counts what is asked of it."""

    def __init__(self, url):
        self._store = open_store(url)
        self.calls = Counter()

    def __getattr__(self, name):
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def counted(*arguments, **named):
            self.calls[name] += 1
            return found(*arguments, **named)

        return counted


class Training:
    """A run of several workers, with one weight each, on a clock that is set by hand.

    Args:
        url: Where it lies.
        size: How many workers it has.
        rules: Which compare them.
    """

    def __init__(self, url, size, rules=RULE):
        self.store = CountedStore(url)
        self.now = 100.0
        start_run(self.store, Manifest("made", 0, num_workers=size))
        self.writers = [NativeWriter(self.store, f"worker_{rank}") for rank in range(size)]
        self.rules = rules
        self.watch = self.new_watch()
        self.found = []

    def new_watch(self):
        rules = parse_rules(self.rules)
        return JointWatch(
            rules, self.store, "worker_0", {}, clock=lambda: self.now, cpu_clock=lambda: 0.0
        )

    def record(self, rank, step, *, weight=0.0, full=True, mode_step=None, mode=Mode.TRAIN):
        tensors = {"losses": {"loss/a": np.float64(step)}}
        if full:
            tensors["weights"] = {"fc.weight": np.array([step, 2.0 + weight], np.float32)}
            tensors["batches"] = {"batch/0": np.zeros(2, np.float32)}
        return full_record(
            tensors,
            step,
            mode,
            mode_step=mode_step,
            worker=f"worker_{rank}",
            raw=False,
            digests={"batch/0": 1000 * step + rank} if full else {},
        )

    def write(self, rank, *records):
        """Store records of a worker as one part."""
        for record in records:
            if rank == 0:
                self.watch.begins(record)
            self.writers[rank].write(record)
        self.writers[rank].flush()

    def write_all(self, steps, *, odd=None, since=10**9):
        """Store steps of all workers, with one that is another from a step on."""
        for rank in range(len(self.writers)):
            apart = [rank == odd and step >= since for step in steps]
            records = zip(steps, apart, strict=True)
            self.write(rank, *(self.record(rank, s, weight=float(is_odd)) for s, is_odd in records))

    def tick(self, times=1):
        """Let time pass; return how often the store was asked at most in one tick."""
        most = 0
        for _ in range(times):
            self.now += TICK_S
            self.store.calls.clear()
            self.found += self.watch.tick()
            most = max(most, self.store.calls.total())
        return most

    def status(self):
        return self.watch.statuses()[0]


@pytest.fixture
def training(tmp_path):
    """Return what begins a run of so many workers."""
    return lambda size, **options: Training(f"file://{tmp_path}/run", size, **options)


def read_all(training):
    """Let so much time pass that all is read that is there."""
    training.tick(40)


class TestFindings:
    def test_a_replica_that_differs_is_found_while_training_goes_on(self, training):
        """As soon as all workers have stored the step."""
        run = training(2)
        run.write_all(range(10))
        read_all(run)
        assert [] == run.found
        run.write_all(range(10, 20), odd=1, since=12)
        read_all(run)

        assert [(16, "diverged", "TRAIN")] == [(f.step, f.condition, f.mode) for f in run.found]

    def test_they_are_those_of_a_check(self, training):
        """Of the same steps."""
        run = training(3)
        for first in range(0, 40, 5):
            run.write_all(range(first, first + 5), odd=2, since=17)
            run.tick(4)
        read_all(run)
        checked = evaluate(Trial(run.store), [RULE]).findings

        assert 1 == len(checked)
        assert list(checked) == run.found

    def test_replicas_that_agree_are_let_be(self, training):
        run = training(2)
        run.write_all(range(30))
        read_all(run)
        found = run.watch.finish()

        assert [] == [*run.found, *found]
        assert "NoIssuesFound" == run.status().status
        assert "up to step 29" in run.status().details

    def test_a_step_comes_once_all_have_written_it(self, training):
        """The slow one is waited for, and none is compared without it."""
        run = training(3)
        for rank in (0, 1):
            run.write(rank, *(run.record(rank, step) for step in range(20)))
        read_all(run)
        assert 0 == run.status().evaluations
        run.write(2, *(run.record(2, step, weight=step >= 3) for step in range(10)))
        read_all(run)

        assert 10 == run.status().evaluations
        assert ["worker_2"] == [finding.worker for finding in run.found]

    def test_what_one_worker_did_not_observe_in_full_is_not_compared(self, training):
        """Each chooses by itself how often it does; what goes on is found at those of both."""
        run = training(3)
        for rank, period in ((0, 2), (1, 4), (2, 1)):
            run.write(
                rank,
                *(
                    run.record(rank, s, weight=rank == 1 and s > 20, full=s < 21 or s % period == 0)
                    for s in range(60)
                ),
            )
        read_all(run)

        assert [("diverged", 40, "worker_1")] == [
            (finding.condition, finding.step, finding.worker) for finding in run.found
        ]
        assert run.found == list(evaluate(Trial(run.store), [RULE]).findings)

    def test_a_worker_that_evaluates_by_itself_is_compared_at_the_same_train_steps(self, training):
        """Its global steps are then others."""
        run = training(2)
        train = [run.record(0, s + 5 * (s >= 10), mode_step=s) for s in range(20)]
        values = [run.record(0, s) for s in range(20)]
        train = [
            replace(one, statistics=own.statistics) for one, own in zip(train, values, strict=True)
        ]
        others = [run.record(0, 10 + s, mode_step=s, mode=Mode.EVAL) for s in range(5)]
        run.write(0, *train[:10], *others, *train[10:])
        run.write(1, *(run.record(1, step) for step in range(20)))
        read_all(run)

        assert ([], 20) == (run.found, run.status().evaluations)
        assert () == tuple(evaluate(Trial(run.store), [RULE]).findings)

    def test_a_straggler_is_found(self, training):
        run = training(2, rules="straggler")
        for rank in range(2):
            times = {
                "loop/step_seconds": np.float64(1.0),
                "loop/data_wait_seconds": np.float64(0.5 * rank),
            }
            worker = f"worker_{rank}"
            records = [full_record({"loop": times}, step, worker=worker) for step in range(60)]
            run.write(rank, *(replace(record, raw={}) for record in records))
        read_all(run)

        assert ["worker_1"] == [finding.worker for finding in run.found]


class TestWorkers:
    def test_who_has_not_come_yet_is_waited_for_and_nothing_is_read(self, training):
        """Ever more rarely."""
        run = training(3)
        for rank in (0, 1):
            run.write(rank, *(run.record(rank, step) for step in range(20)))
        read_all(run)
        run.store.calls.clear()
        calls = Counter()
        for _ in range(160):
            run.tick()
            calls += run.store.calls
        found = run.watch.finish()

        assert [] == [*run.found, *found]
        assert calls["list"] <= 40 * TICK_S * 2
        assert ("NotEvaluated", True) == (run.status().status, run.status().idle)
        assert "stepwatch check RUN" in run.status().details

    def test_without_one_that_died_the_others_are_compared(self, training):
        """Its process is gone, and it left no note."""
        run = training(3)
        run.write_all(range(5))
        with subprocess.Popen([sys.executable, "-c", ""]) as gone:
            gone.wait()
        here = Process.of(replace(read_manifest(run.store), host=os.uname().nodename))
        write_process(run.store, "worker_2", replace(here, pid=gone.pid, process="gone"))
        for rank in (0, 1):
            run.write(rank, *(run.record(rank, s, weight=rank and s > 8) for s in range(5, 20)))
        run.tick(int(SILENT_S / TICK_S) + 80)

        assert 20 == run.status().evaluations
        assert ["diverged"] == [finding.condition for finding in run.found]

    def test_without_one_that_ended_the_others_are_compared(self, training):
        """All that it wrote is compared first."""
        run = training(3)
        run.write_all(range(5))
        run.writers[2].close(End("finished", 0, 5))
        for rank in (0, 1):
            run.write(rank, *(run.record(rank, step) for step in range(5, 20)))
        run.tick(int(SILENT_S / TICK_S) + 80)

        assert ([], 20) == (run.found, run.status().evaluations)

    def test_what_was_left_before_the_run_was_resumed_is_not_compared(self, training):
        """A worker removes its steps once it is back."""
        run = training(2)
        run.write_all(range(20))
        run.store.put(RUN_KEY, replace(read_manifest(run.store), resumes=(10,)).to_json())
        run.watch = run.new_watch()
        run.write(1, *(run.record(1, step, weight=1.0) for step in range(20, 40)))
        records = [
            [replace(run.record(rank, step), time_ns=10**12 + step) for step in range(20, 40)]
            for rank in range(2)
        ]
        run.write(0, *records[0])
        read_all(run)
        assert 0 == run.status().evaluations
        follows = truncate(run.store, "worker_1", 20)
        run.writers[1] = NativeWriter(run.store, "worker_1", follows=follows)
        run.write(1, *records[1])
        read_all(run)

        assert ([], 20) == (run.found, run.status().evaluations)


class TestCost:
    @pytest.mark.parametrize("size", [20, pytest.param(200, marks=pytest.mark.slow)])
    def test_a_tick_asks_the_store_no_more_often_with_many_workers(self, training, size):
        """What is not read in one tick is in the next."""
        run = training(size)
        run.write_all(range(20), odd=size - 1, since=10)
        most = run.tick(2 * size)

        assert [f"worker_{size - 1}"] == [finding.worker for finding in run.found]
        assert 20 == run.status().evaluations
        assert most <= 80

    @pytest.mark.slow
    def test_while_nothing_is_new_a_tick_lists_the_parts_of_one_worker(self, training):
        """Nothing can be complete before that one has written more."""
        run = training(200)
        run.write_all(range(5))
        run.tick(400)

        assert 5 == run.status().evaluations
        assert run.tick(4) <= 1

    def test_at_the_end_nobody_is_waited_for(self, training):
        """What came until then is compared."""
        run = training(3)
        run.write_all(range(20), odd=1, since=10)
        run.write(0, *(run.record(0, step) for step in range(20, 40)))
        before = run.now

        assert [14] == [finding.step for finding in run.watch.finish()]
        assert before == run.now
        assert [] == run.watch.tick()


class TestTraining:
    def live(self, store, worker, *, run_format="native"):
        start_run(store, Manifest("made", 0, num_workers=2, run_format=run_format))
        live = LiveWatch(["exploding_tensor", RULE])
        live.start(store, worker, {})
        return live

    def test_a_worker_leaves_to_the_first_what_compares_workers(self):
        store = open_store("memory://joint-second")
        live = self.live(store, "worker_1")
        live.finish()
        first, second = live.statuses()

        assert ["exploding_tensor", RULE] == [first.rule, second.rule]
        assert ("NotEvaluated", True) == (second.status, second.idle)
        assert "worker_0" in second.details

    def test_a_part_that_is_damaged_ends_the_comparison_and_nothing_else(self, caplog):
        """Rules of this worker alone go on."""
        store = open_store("memory://joint-damaged")
        live = self.live(store, "worker_0")
        writers = [NativeWriter(store, f"worker_{rank}") for rank in range(2)]
        for rank, writer in enumerate(writers):
            writer.write(full_record({"weights": {"w": np.ones(1)}}, worker=f"worker_{rank}"))
            writer.flush()
        (key,) = store.list("observations/worker_1/")
        store.put(key, b"nothing of ours")
        live.on_step(full_record({"weights": {"w": np.ones(1)}}))
        live.tick()
        live.on_step(full_record({"weights": {"w": np.array([np.nan])}}, 1))
        live.finish()
        own, joint = live.statuses()

        assert ("IssuesFound", "NotEvaluated") == (own.status, joint.status)
        assert "could not be read" in joint.details
        assert 1 == len(caplog.records)

    def test_in_another_format_they_are_left_to_a_check(self):
        """Files of one step each would take too long to read."""
        live = self.live(open_store("memory://joint-format"), "worker_0", run_format="smdebug")
        live.on_step(full_record({"weights": {"w": np.ones(1)}}))
        live.finish()

        assert "stepwatch check RUN" in live.statuses()[1].details


def test_a_finding_that_comes_later_than_others_of_later_steps_is_shown():
    """As what compares workers does."""
    (entry,) = parse_actions("")
    shown = []
    reactions = Reactions([entry], shown.append)
    for step in (20, 5):
        reactions.found(Finding(f"rule_{step}", step, "", "it is wrong"))

    assert [
        *("Rule 20, step 20 (rule_20)", "    it is wrong"),
        *("Rule 5, step 5 (rule_5)", "    it is wrong"),
    ] == shown
