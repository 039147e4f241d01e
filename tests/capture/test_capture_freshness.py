"""How soon a step can be seen."""

from __future__ import annotations

import time

import numpy as np

from stepwatch.capture import Recorder
from stepwatch.record import TensorInfo
from stepwatch.steps import Mode
from stepwatch.trial import Trial


class TestFreshness:
    def test_a_step_is_visible_within_two_seconds(self, tmp_path):
        """To another reader on local disk, at any moment of a busy run."""
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
