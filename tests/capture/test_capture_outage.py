"""A store that is away takes what waited, in its order; what does not fit is counted."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.capture.output import Output
from stepwatch.formats import outage
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial
from tests.support.small_disk import small_disk

__all__ = ["small_disk"]

LOSS = TensorInfo("loss", "losses", "float32", ())
WEIGHT = TensorInfo("weight", "weights", "float32", (1000,))


def remount(disk, how):
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def train(recorder, steps):
    for _ in range(steps):
        step = recorder.open_step(Mode.TRAIN)
        step.add(LOSS, np.float32(recorder.num_steps))
        step.add(WEIGHT, np.full(1000, recorder.num_steps, np.float32))
        recorder.end_step(Mode.TRAIN)
    recorder.store_steps(20)


@pytest.fixture(params=["native", "smdebug"])
def recorder(request, small_disk, monkeypatch):
    """Return what writes to a disk, and asks at once whether it is back; a step has 4 kB."""
    monkeypatch.setattr(outage, "PAUSE_S", 0.0)
    output = Output(format=request.param)
    return Recorder(str(small_disk / "run"), policy="weights:raw:every=1", output=output)


class TestOutage:
    def test_what_waited_is_stored_in_its_order(self, recorder, small_disk):
        """Steps from before, from under way and from after."""
        train(recorder, 5)
        remount(small_disk, "ro")
        for _ in range(3):
            train(recorder, 5)
        remount(small_disk, "rw")
        train(recorder, 5)
        end = recorder.close()
        trial = Trial(small_disk / "run")

        assert (0, "", "") == (end.dropped, end.lost, end.error)
        assert list(range(25)) == trial.steps()
        values = [trial.tensor("weight").value(step)[0] for step in trial.steps()]
        assert [*range(25)] == values

    def test_what_does_not_fit_is_counted(self, recorder, small_disk, monkeypatch):
        """The first of what came is kept, and what comes once there is room again."""
        monkeypatch.setattr(outage, "KEPT_BYTES", 50_000)
        train(recorder, 5)
        remount(small_disk, "ro")
        train(recorder, 2)
        train(recorder, 18)
        remount(small_disk, "rw")
        recorder.store_steps(20)
        train(recorder, 5)
        end = recorder.close()
        steps = Trial(small_disk / "run").steps()

        num_kept = len(steps) - 10
        assert [*range(5 + num_kept), *range(25, 30)] == steps
        assert 6 <= num_kept <= 12
        assert f"{20 - num_kept} of 30 steps (Read-only file system)" == end.lost

    def test_one_that_stays_away_ends_with_what_was_kept(self, recorder, small_disk, monkeypatch):
        """Its end is not waited for long, and what is lost is said."""
        monkeypatch.setattr(outage, "LAST_PATIENCE_S", 0.0)
        train(recorder, 5)
        remount(small_disk, "ro")
        train(recorder, 5)
        end = recorder.close()

        assert "5 of 10 steps (Read-only file system)" == end.lost
        assert list(range(5)) == Trial(small_disk / "run").steps()
