"""What is promised of times, measured; ``make bench`` runs it, on a machine that does nothing else.

Tests assert no times: they must pass on a machine that is busy with something else.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.formats.interface import StepRange, join_ranges
from stepwatch.formats.tensorboard import bucket_counts
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.plots import line_plot
from stepwatch.store import open_store
from stepwatch.store.memory import MemoryStore
from stepwatch.trial import Trial
from stepwatch.trial.step_log import StepLog
from tests.test_crash import train_and_kill

sys.path.insert(0, str(Path(__file__).parent))
import freshness
import open_run

_kernel = pytest.importorskip("stepwatch._kernel")
_numbers = itertools.count()
ROUNDS = 3


def seconds(call, *arguments, **options):
    """Return how long a call takes."""
    began = time.perf_counter()
    call(*arguments, **options)
    return time.perf_counter() - began


@pytest.fixture
def far():
    """A store of which each request takes 50 ms."""
    return freshness.LatentStore(MemoryStore(f"freshness-{next(_numbers)}"), freshness.LATENCY_S)


class TestFreshness:
    def test_on_a_local_disk_it_is_two_seconds(self, tmp_path):
        """From the end of a step to the steps of another reader."""
        url = str(tmp_path / "run")

        assert max(freshness.delays(url, open_store(url), ROUNDS)) < 2

    def test_in_a_store_far_away_it_is_ten(self, far):
        """For whom each request takes 50 ms, training and reader alike."""
        with patch("stepwatch.capture.recorder.open_store", lambda _: far):
            assert max(freshness.delays(far.url, far, ROUNDS)) < 10

    def test_in_a_copy_far_away_it_is_ten(self, far, tmp_path):
        """As the run is written to a local disk."""
        run = str(tmp_path / "run")
        with patch("stepwatch.capture.mirror.open_store", lambda _: far):
            assert max(freshness.delays(run, far, ROUNDS, mirror=far.url)) < 10

    def test_a_step_of_a_busy_run_is_visible_within_two_seconds(self, tmp_path):
        """To another reader on local disk, at any moment."""
        recorder = Recorder(tmp_path, rank=(0, 1))
        trial = Trial(tmp_path)
        for _ in range(3):
            for _step in range(20):
                for tensor in range(20):
                    recorder.open_step(Mode.TRAIN).add(
                        TensorInfo(f"t{tensor}", "weights", "float32", (2,)), np.ones(2)
                    )
                last = recorder.end_step(Mode.TRAIN).step
            ended, late = time.monotonic(), 0.0
            while last not in trial.steps() and late < 10:
                time.sleep(0.02)
                trial.refresh()
                late = time.monotonic() - ended
            assert late < 2
        recorder.close()

    @pytest.mark.parametrize("steps", [100, 400, 700])
    def test_what_was_two_seconds_old_survives_a_kill(self, tmp_path, steps):
        """Whatever the moment of the kill."""
        finished, killed_at = train_and_kill(tmp_path / "run", steps)
        old = {step for step, at in finished if killed_at - at > 2}

        assert old <= set(Trial(tmp_path / "run").steps())


class TestOpening:
    @pytest.mark.parametrize(("steps", "tensors"), [(10_000, 20), *open_run.SIZES])
    def test_a_run_opens_within_a_second(self, tmp_path, steps, tensors):
        """With one tensor read, of 100,000 steps; without, of a million."""
        cost = open_run.measure(str(tmp_path), open_run.write_run(str(tmp_path), steps, tensors))

        assert cost["open_s"] < 1
        if steps <= 100_000:
            assert cost["together_s"] < 1
            assert cost["peak_mb"] < 300


class TestArithmetic:
    def test_a_million_steps_are_counted_in_half_a_second(self):
        """Every refresh makes a new log of steps."""
        ranges = join_ranges(
            StepRange(Mode.TRAIN, first, 990, 1, first, 1) for first in range(0, 1_000_000, 1000)
        )

        assert seconds(lambda: StepLog({"worker_0": ranges}, 10**6).steps(Mode.TRAIN)) < 0.5

    def test_a_million_values_are_drawn_in_two_seconds(self):
        """A long run costs no more than a glance."""
        steps, values = np.arange(1_000_000), np.zeros(1_000_000)

        assert seconds(line_plot, steps, values, name="a", statistic="max") < 2

    def test_a_histogram_of_a_million_elements_takes_milliseconds(self):
        """Searching each takes ten times longer."""
        values = np.random.default_rng(0).normal(size=1 << 20).astype(np.float32)
        bucket_counts(values)

        assert seconds(bucket_counts, values) < 0.5

    def test_a_checksum_keeps_up_with_a_disk(self):
        """A gigabyte a second at least, where the processor has an instruction for it."""
        data = bytes(1 << 26)

        assert len(data) / seconds(_kernel.crc32c, data) / 1e9 > 0.2

    def test_waiting_for_a_step_takes_no_poll_longer_than_its_timeout(self, tmp_path):
        """Fifty milliseconds, of polls of 200."""
        recorder = Recorder(tmp_path, rank=(0, 1))
        recorder.open_step(Mode.TRAIN).add(TensorInfo("w", "weights", "float32", (2,)), np.ones(2))
        recorder.end_step(Mode.TRAIN)
        trial = Trial(tmp_path)

        def wait():
            with pytest.raises(TimeoutError):
                trial.wait_for_steps([3], mode="TRAIN", timeout=0.05)

        assert seconds(wait) < 0.19
        recorder.close()
