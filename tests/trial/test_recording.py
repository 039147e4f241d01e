"""Which steps a black box can run again, and from where."""

from __future__ import annotations

from itertools import count

import pytest

from stepwatch.errors import StepUnavailable
from stepwatch.formats.blackbox import Frame
from stepwatch.trial.recording import find_recording


def frames(*what):
    """Return frames of kinds and TRAIN steps, such as ``"begin 3"``."""
    numbers = count()
    found = []
    for text in what:
        kind, step, *into = text.split()
        meta = {"mode": "TRAIN", "mode_step": int(step), "batch": {}, "targets": {}}
        meta |= {"into": int(into[0])} if into else {}
        found.append(Frame(kind, "worker_0", meta, {}, next(numbers)))
    return found


class TestFindRecording:
    def test_it_begins_with_the_latest_snapshot(self):
        """With each forward come the losses up to the next one."""
        recording = find_recording(
            frames(
                "begin 0", "snapshot 0", "loss 0", "begin 1", "snapshot 1", "loss 1", "begin 2",
                "loss 2", "begin 2", "loss 2", "loss 2", "begin 3",
            ),
            2,
        )  # fmt: skip

        assert (1, 1) == (recording.first, recording.snapshot.mode_step)
        assert [[1], [1, 2]] == [[len(one.losses) for one in step] for step in recording.steps]

    def test_what_two_optimizers_share_is_one_step(self):
        """The merge takes a snapshot that was taken between them with it."""
        found = frames(
            "begin 0", "snapshot 0", "begin 1", "snapshot 1", "loss 1", "merge 1 0", "loss 0",
            "begin 1",
        )  # fmt: skip
        recording = find_recording(found, 1)

        assert (0, [2, 1]) == (recording.first, [len(step) for step in recording.steps])
        assert 2 == len(recording.steps[0][1].losses)

    @pytest.mark.parametrize(
        ("what", "why"),
        [
            ((), "no step can be replayed; to have more of them: stepwatch run --snapshot every=K"),
            (("begin 4", "begin 5"), "no step can be replayed"),
            (("begin 1", "snapshot 1", "begin 3", "begin 5"), "can be replayed: TRAIN 1;"),
            (("begin 1", "snapshot 1", "begin 2", "begin 6", "snapshot 6"), "TRAIN 1-2, 6;"),
        ],
    )
    def test_a_gap_is_not_stepped_over(self, what, why):
        """The message says which steps can be replayed."""
        with pytest.raises(StepUnavailable, match=why):
            find_recording(frames(*what), 5)

    def test_what_is_missing_is_named(self):
        """A batch, targets or state that did not fit, with the reason."""
        found = frames("begin 0", "snapshot 0")
        found[0].meta["batch"]["batch/args/0"] = {"left_out": "99 bytes are too many"}

        with pytest.raises(StepUnavailable, match=r"batch/args/0 of TRAIN step 0 .* 99 bytes are"):
            find_recording(found, 0).check_complete()
