"""What smdebug 1.0.34 wrote for TensorBoard, written again by us from the same tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event

from stepwatch.formats.smdebug.wire import FRAME_BYTES, payload_range
from stepwatch.formats.tensorboard import TensorBoardWriter
from stepwatch.model.steps import Mode
from tests.support.formats.tensorboard_steps import END, events, files, step_of

GOLDEN = Path(__file__).parents[1] / "golden" / "runs" / "pt_tensorboard"
STEPS = (0, 4)


def saved_tensors(step):
    """Return the tensors that smdebug saved at a step, by name."""
    (path,) = GOLDEN.glob(f"events/*/{step:012d}_*.tfevents")
    data, at, found = path.read_bytes(), 0, {}
    while at < len(data):
        start, end = payload_range(path.name, data, at)
        at += end - start + FRAME_BYTES
        (value,) = Event.FromString(data[start:end]).summary.value
        shape = [dim.size for dim in value.tensor.tensor_shape.dim]
        dtype = {1: np.float32, 2: np.float64, 9: np.int64}[value.tensor.dtype]
        found[value.tag] = np.frombuffer(value.tensor.tensor_content, dtype).reshape(shape)
    return found


def shown(path):
    """Return what a file for TensorBoard shows: tag and step, and value or histogram."""
    return {
        (value.tag, event.step): value.histo if value.HasField("histo") else value.simple_value
        for event in events(path)
        for value in event.summary.value
    }


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """What smdebug shows, and what we show of the same tensors."""
    folder, theirs = tmp_path_factory.mktemp("board"), {}
    writer = TensorBoardWriter(
        str(folder),
        "worker_0",
        lambda name: "biases" if name.endswith(".bias") else None,
        lambda name: name.startswith("scalar/") or "Loss_output" in name,
    )
    for step in STEPS:
        writer.write(step_of(saved_tensors(step), step, mode=Mode.GLOBAL, raw=True))
        (path,) = GOLDEN.glob(f"tensorboard/GLOBAL/{step:012d}_*.tfevents")
        theirs.update(shown(path))
    writer.close(END)
    return theirs, shown(files(folder, "GLOBAL")[0])


class TestGolden:
    def test_the_same_is_shown(self, pairs):
        """Curves and histograms, under the same tags at the same steps."""
        theirs, ours = pairs
        assert 10 == len(theirs)
        assert theirs.keys() == ours.keys()

    def test_histograms_are_equal_bucket_by_bucket(self, pairs):
        """Limits and counts to the bit, and so smallest and greatest."""
        theirs, ours = pairs
        compared = [key for key, value in theirs.items() if not isinstance(value, float)]
        assert 6 == len(compared)
        for key in compared:
            for field in ("bucket_limit", "bucket", "min", "max", "num"):
                assert getattr(theirs[key], field) == getattr(ours[key], field)
            for field in ("sum", "sum_squares"):  # in whatever order they were added
                assert getattr(theirs[key], field) == pytest.approx(getattr(ours[key], field))

    def test_scalars_are_equal(self, pairs):
        """To the bit."""
        theirs, ours = pairs
        compared = [key for key, value in theirs.items() if isinstance(value, float)]
        assert 4 == len(compared)
        assert [theirs[key] for key in compared] == [ours[key] for key in compared]
