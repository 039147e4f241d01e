"""Many workers and many readers of one run, as real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepwatch.trial import Trial
from tests.support.trial.many_processes import follow_together, seen

pytestmark = pytest.mark.slow

STEPS = 60
STEPWATCH = Path(sys.executable).with_name("stepwatch")
READERS = [{}, {}, {"begins_at": 0}, {"begins_at": 20}]


def workers(size, **special):
    """Return what workers do: each at its own pace, and some something special."""
    plans = [{"steps": STEPS, "pace_s": 0.02 + 0.004 * rank} for rank in range(size)]
    for worker, options in special.items():
        plans[int(worker.removeprefix("worker_"))] |= options
    return plans


def assert_each_step_once(run, answers, state):
    """Every reader saw what lies there in the end: each step once, in order, of every worker."""
    trial = Trial(run)
    there = seen(trial)
    assert list(range(STEPS)) == [step for step, _ in there]
    for told, found in answers:
        assert (state, there) == (told, found)
    return {step: [worker for worker, _ in rows] for step, rows in there}


def test_two_readers_of_three_workers_see_every_step_once(tmp_path):
    """In order, with the rows of all."""
    answers = follow_together(
        str(tmp_path / "run"), workers=workers(3), readers=[{}, {"begins_at": 20}]
    )
    saw = assert_each_step_once(tmp_path / "run", answers, "finished")

    assert {("worker_0", "worker_1", "worker_2")} == set(map(tuple, saw.values()))


@pytest.mark.slow
class TestEight:
    """Eight workers, four readers: two that wait for the run, two that come later."""

    def test_every_reader_sees_every_step_once(self, tmp_path):
        """In order, with the rows of all workers."""
        answers = follow_together(str(tmp_path / "run"), workers=workers(8), readers=READERS)
        saw = assert_each_step_once(tmp_path / "run", answers, "finished")

        assert {8} == set(map(len, saw.values()))

    def test_a_watcher_names_the_worker(self, tmp_path):
        """It waits for the run, follows it, and ends with it."""
        watcher = subprocess.Popen(
            [STEPWATCH, "watch", "run", "--rules", "exploding_tensor", "--wait", "60"],
            cwd=tmp_path, env={**os.environ, "COLUMNS": "200"}, text=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        plans = workers(8, worker_4={"nan_at": 30})
        follow_together(str(tmp_path / "run"), workers=plans, readers=[])
        told = watcher.communicate(timeout=60)[0].splitlines()

        assert (
            "error Values are NaN or infinite, step 30 of worker_4 · rule exploding_tensor" in told
        )
        assert f"the run finished, {STEPS} steps" in told

    def test_a_slow_worker_is_waited_for(self, tmp_path):
        """No step is shown without its rows."""
        plans = workers(8, worker_5={"pace_s": 0.15})
        answers = follow_together(str(tmp_path / "run"), workers=plans, readers=READERS)
        saw = assert_each_step_once(tmp_path / "run", answers, "finished")

        assert {8} == set(map(len, saw.values()))

    def test_killed_workers_hold_nobody_up(self, tmp_path):
        """Their rows are shown as far as they go; the others go on without them."""
        plans = workers(8, worker_3={"dies_at": 20}, worker_0={"dies_at": 35})
        answers = follow_together(str(tmp_path / "run"), workers=plans, readers=READERS)
        saw = assert_each_step_once(tmp_path / "run", answers, "died")

        counts = [len(names) for names in saw.values()]
        assert (8, 6, sorted(counts, reverse=True)) == (counts[0], counts[-1], counts)
        for worker, last in (("worker_3", 20), ("worker_0", 35)):
            assert last >= max(step for step, names in saw.items() if worker in names)
