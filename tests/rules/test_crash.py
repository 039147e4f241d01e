"""What is said of the end of a training that did not end by itself."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.formats.blackbox import BEGIN_FRAME, Frame
from stepwatch.judge.crash import is_incomplete, last_batch, raised_at
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize
from stepwatch.trial.last_steps import Moment


def moment(step, shape=(20, 10), dtype="float32", values=(0.0, 1.0), rate=0.1):
    """Return a step that was given one batch."""
    arrays = {"batch/0": ("batches", values)}
    if rate is not None:
        arrays["learning_rate/0"] = ("learning_rates", [rate])
    tensors = tuple(TensorInfo(name, kind, dtype, shape) for name, (kind, _) in arrays.items())
    statistics = np.stack([summarize(np.array(one)) for _, one in arrays.values()])
    record = StepRecord("worker_0", Mode.TRAIN, step, step, 0, Layout(tensors), statistics)
    batch = {"batch/0": {"dtype": dtype, "shape": list(shape)}}
    meta = {"step": step, "mode": "TRAIN", "mode_step": step, "batch": batch}
    frame = Frame(BEGIN_FRAME, "worker_0", meta)
    return Moment("worker_0", "TRAIN", step, [frame], record)


BEFORE = [moment(step) for step in range(3)]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"shape": (3, 10)}, "the last batch had 3 samples, all before it 20"),
        (
            {"shape": (20, 9)},
            "the last batch was of shape [20, 9], all before it of [20, 10]",
        ),
        ({"dtype": "float64"}, "the last batch was float64, all before it float32"),
        (
            {"values": (0.0, np.nan)},
            "1 element of batch/0 not finite in the last batch, and none before it",
        ),
        ({"values": (0.0, 50.0)}, "batch/0 went up to 50 in magnitude, before it to 1"),
        ({}, ""),
    ],
)
def test_the_last_batch_is_compared_with_all_before_it(last, expected):
    assert expected == last_batch([*BEFORE, moment(3, **last)])[0]


def test_a_smaller_batch_says_what_to_do():
    assert "drop_last=True" in last_batch([*BEFORE, moment(3, shape=(3, 10))])[1]
    assert "" == last_batch([*BEFORE, moment(3, shape=(40, 10))])[1]


def test_a_step_without_the_update_of_those_before_was_not_over():
    assert is_incomplete([*BEFORE, moment(3, rate=None)])
    assert not is_incomplete([*BEFORE, moment(3)])
    assert not is_incomplete([])


def test_the_innermost_frame_is_where_it_was_raised():
    text = '  File "a.py", line 3, in f\n    g()\n  File "b.py", line 9, in g\n    1 / 0\n'

    assert "b.py, line 9" == raised_at(text)
    assert "" == raised_at("")
