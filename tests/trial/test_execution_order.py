"""The order of execution, of runs in each format."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.capture import Recorder
from stepwatch.capture.output import Output
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.trial.step_log import in_order


@pytest.mark.parametrize("format_", ["native", "smdebug"])
def test_tensors_are_in_the_order_of_the_first_step_of_each_mode(tmp_path, format_):
    """What only another mode has comes behind it, and what came later comes last."""
    recorder = Recorder(tmp_path, output=Output(format_), rank=(0, 1))
    for mode, names in (
        (Mode.TRAIN, ["z", "a"]),
        (Mode.TRAIN, ["late", "a", "z"]),
        (Mode.EVAL, ["m", "z"]),
    ):
        for name in names:
            info = TensorInfo(name, "weights", "float32", (2,))
            recorder.open_step(mode).add(info, np.ones(2, np.float32))
        recorder.end_step(mode)
    recorder.close()
    trial = Trial(tmp_path)

    order = trial.order

    assert ["z", "a", "m"] == list(order)
    assert ["z", "a", "m", "late"] == in_order(trial.tensor_names(), order)
