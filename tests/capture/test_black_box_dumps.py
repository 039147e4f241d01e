"""The black box on the writing side: what is kept, when a dump is made, what remains of it."""

from __future__ import annotations

import errno
import logging
import os
import threading

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.capture.budget import FULL_STEPS
from stepwatch.capture.output import Output
from stepwatch.capture.recorder import WANTED_STEPS
from stepwatch.errors import ConfigError
from stepwatch.formats.blackbox import (
    BEGIN_FRAME,
    LAYOUT_FRAME,
    SNAPSHOT_FRAME,
    STEP_FRAME,
    TRIGGER_FRAME,
    dump_keys,
    read_frames,
    step_records,
)
from stepwatch.model.finding import Finding
from stepwatch.model.record import Layout, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial

RING = "blackbox/worker_0.ring"


class Finder:
    """A listener that finds something at some steps."""

    def __init__(self, *steps, severity="error"):
        self.findings = []
        self.steps, self.severity = steps, severity

    def start(self, store, worker, patterns):
        pass

    def on_step(self, record):
        if record.mode_step in self.steps:
            finding = Finding("a_rule", record.step, "w", "wrong", severity=self.severity)
            self.findings.append(finding)

    def finish(self):
        pass


def recorder_of(path, *listeners, mb=1, **options):
    output = Output(black_box_mb=mb, **options)
    return Recorder(path, output=output, listeners=listeners, rank=(0, 1))


def train(recorder, steps, *, loss=lambda step: 1.0, raw=0, closely=()):
    """Take some TRAIN steps as a hook does, and look closely at those that are wanted."""
    box = recorder.black_box
    for number in steps:
        step = recorder.open_step(Mode.TRAIN)
        meta = {"mode": "TRAIN", "mode_step": step.mode_step}
        begin = {**meta, "step": recorder.counter.peek(step.mode)[0], "batch": {}}
        box.keep(BEGIN_FRAME, begin, {"x": np.zeros(4)})
        recorder.flush()  # so that what was found is known before the next step, as it may be
        reason, box.wanted = box.wanted, ""
        if reason and box.request_dump(reason):
            box.keep(SNAPSHOT_FRAME, meta, {"model/w": np.zeros(4)})
        step.add(TensorInfo("w", "weights", "float32", (100,)), np.ones(100, np.float32))
        value = np.float32(loss(number))
        step.add(TensorInfo("loss/x", "losses", "float32", ()), np.asarray(value))
        if raw:
            step.raw["w"] = np.full(raw, number, np.uint8)
        recorder.end_step(Mode.TRAIN)
        recorder.flush()


def kinds(recorder, kind):
    frames = read_frames(recorder.store)
    return [frame.mode_step for frame in frames if frame.kind == kind]


class TestBudget:
    def test_steps_are_thin_again_where_nobody_captures_what_is_wanted(self, tmp_path):
        """As with frameworks whose steps cannot be run again: the first steps after it are full."""
        recorder = recorder_of(tmp_path, Finder(20), budget=0.03)
        recorder.budget.period = 1000
        full = []
        for number in range(40):
            step = recorder.open_step(Mode.TRAIN)
            full += [] if step.is_thin else [number]
            step.add(TensorInfo("loss/x", "losses", "float32", ()), np.asarray(np.float32(1)))
            recorder.end_step(Mode.TRAIN)
            recorder.flush()
        recorder.close()

        assert [*range(FULL_STEPS), *range(21, 21 + WANTED_STEPS)] == full


class TestRing:
    def test_a_clean_end_leaves_nothing(self, tmp_path):
        """No file and no folder."""
        recorder = recorder_of(tmp_path)
        train(recorder, range(3))
        assert (tmp_path / RING).stat().st_size == 1 << 20
        recorder.close()

        assert [] == [key for key in recorder.store.list() if key.startswith("blackbox")]
        assert not (tmp_path / "blackbox").exists()

    def test_every_step_can_be_told_while_the_ring_goes_round(self, tmp_path):
        """What tells the rows apart is written again before it is written over."""
        recorder = recorder_of(tmp_path)
        train(recorder, range(40), raw=100_000)
        frames = read_frames(recorder.store)
        records = step_records(frames)
        recorder.close()

        assert sum(frame.kind == STEP_FRAME for frame in frames) == len(records) >= 5
        assert list(range(40))[-len(records) :] == [record.step for record in records]
        assert all((record.raw["w"] == record.step).all() for record in records)
        assert frames[0].sequence > 0
        assert 1 <= sum(frame.kind == LAYOUT_FRAME for frame in frames) <= 2

    def test_layouts_that_take_turns_are_written_once(self, tmp_path):
        """The last few are known, the very ones and their equals, whatever their mode."""
        recorder = recorder_of(tmp_path)
        for number in range(12):
            step = recorder.open_step((Mode.TRAIN, Mode.EVAL)[number % 2])
            for name in "abc"[: 1 + number % 3]:
                step.add(TensorInfo(name, "weights", "float32", (4,)), np.ones(4, np.float32))
            recorder.end_step(step.mode)
        recorder.flush()
        frames = read_frames(recorder.store)
        recorder.close()

        assert 3 == sum(frame.kind == LAYOUT_FRAME for frame in frames)
        assert [1, 2, 3] * 4 == [len(record.layout) for record in step_records(frames)]

    def test_many_layouts_do_not_fill_the_ring(self, tmp_path):
        """Those of steps that are gone are not written again; each step that stays is told."""
        recorder = recorder_of(tmp_path)
        for number in range(60):
            step = recorder.open_step(Mode.TRAIN)
            for row in range(300):
                name = f"{number % 20}/{row}"
                step.add(TensorInfo(name, "weights", "float32", (4,)), np.ones(4, np.float32))
            recorder.end_step(Mode.TRAIN)
        recorder.flush()
        frames = read_frames(recorder.store)
        recorder.close()

        last = [record.step for record in step_records(frames)]
        assert list(range(60))[-len(last) :] == last
        assert len(last) >= 10

    def test_full_values_never_drive_out_what_the_step_began_with(self, tmp_path):
        """They lie in the run as well; the batch does not."""
        recorder = recorder_of(tmp_path)
        train(recorder, range(3), raw=(1 << 20) - 1000)

        assert [0, 1, 2] == kinds(recorder, BEGIN_FRAME) == kinds(recorder, STEP_FRAME)
        assert [{}] * 3 == [record.raw for record in step_records(read_frames(recorder.store))]
        recorder.close()

    def test_no_box_where_there_is_no_space_and_the_training_goes_on(
        self, tmp_path, monkeypatch, caplog
    ):
        """One line says so."""

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", full)
        with caplog.at_level(logging.WARNING, "stepwatch"):
            recorder = recorder_of(tmp_path)
        recorder.open_step(Mode.TRAIN).add(TensorInfo("w", "weights", "float32", ()), np.ones(()))
        recorder.close()

        assert recorder.black_box is None
        assert [True] == ["without a black box" in line for line in caplog.messages]
        assert [0] == Trial(tmp_path).steps()

    @pytest.mark.parametrize("options", [{"mb": -1}, {"mb": 0, "snapshot_every": 5}])
    def test_what_cannot_be_meant_is_refused(self, options, tmp_path):
        """Before anything is written."""
        with pytest.raises(ConfigError):
            recorder_of(tmp_path, **options)

        assert [] == list(tmp_path.iterdir())


class TestDumps:
    def test_each_listener_has_its_findings_noted_once(self, tmp_path):
        """In whatever order they find."""
        finders = [Finder(2), Finder(1)]
        recorder = recorder_of(tmp_path, *finders)
        train(recorder, range(5))
        frames = [frame for frame in read_frames(recorder.store) if frame.kind == TRIGGER_FRAME]
        recorder.close()

        assert [1, 2] == [frame.meta["finding"]["step"] for frame in frames]

    def test_a_finding_is_followed_by_a_close_look_and_a_dump(self, tmp_path):
        """The dump holds the step of the finding and the one that was looked at."""
        recorder = recorder_of(tmp_path, Finder(2))
        train(recorder, range(6))
        recorder.close()
        (tmp_path / RING).unlink()

        assert ["blackbox/worker_0/3-a_rule.frames"] == dump_keys(recorder.store)
        assert ([3], [0, 1, 2, 3]) == (kinds(recorder, SNAPSHOT_FRAME), kinds(recorder, STEP_FRAME))

    def test_there_are_three_dumps_at_most_and_the_first_stay(self, tmp_path):
        """However much is found."""
        recorder = recorder_of(tmp_path, Finder(*range(20)))
        train(recorder, range(20))
        recorder.close("failed", "exit status 1")

        assert [1, 3, 5] == [
            int(key.split("/")[2].split("-")[0]) for key in dump_keys(recorder.store)
        ]
        assert (tmp_path / RING).exists()

    def test_what_is_found_in_the_last_step_is_dumped_at_the_end(self, tmp_path):
        """There is no next step to look at; the ring, of which all is in the dump, goes."""
        recorder = recorder_of(tmp_path, Finder(4))
        train(recorder, range(5))
        recorder.close()

        assert ["blackbox/worker_0/4-a_rule.frames"] == dump_keys(recorder.store)
        assert not (tmp_path / RING).exists()

    def test_a_remark_is_no_trigger(self, tmp_path):
        """Its severity is info."""
        recorder = recorder_of(tmp_path, Finder(1, severity="info"))
        train(recorder, range(4))
        recorder.close()

        assert not (tmp_path / "blackbox").exists()

    def test_a_loss_that_is_not_finite_is_noticed_in_the_record(self, tmp_path):
        """An accelerator tells it only when the step is over; and it is one thing, not many."""
        recorder = recorder_of(tmp_path)
        train(recorder, range(8), loss=lambda step: 1.0 if step < 3 else np.nan)
        recorder.close()

        assert ["blackbox/worker_0/4-non-finite-loss.frames"] == dump_keys(recorder.store)
        assert [3] == kinds(recorder, TRIGGER_FRAME)

    def test_after_finite_numbers_it_is_noticed_anew(self, tmp_path):
        """Also where these were handed over without an open step."""
        recorder = recorder_of(tmp_path)
        losses = Layout((TensorInfo("loss/x", "losses", "float64", ()),))
        for first in (0, 6):
            train(recorder, range(first, first + 3), loss=lambda step: np.nan)
            for _ in range(3):
                recorder.take_scalars(losses, (1.0,))
        recorder.close()

        assert [0, 6] == kinds(recorder, TRIGGER_FRAME)

    @pytest.mark.parametrize("state", ["failed", "interrupted", "stopped"])
    def test_what_did_not_end_well_stays(self, state, tmp_path):
        """As a dump if it failed, else as the ring."""
        recorder = recorder_of(tmp_path)
        train(recorder, range(3))
        recorder.close(state, "RuntimeError: boom")

        failed = ["blackbox/worker_0/2-exception.frames"]
        assert (failed if state == "failed" else []) == dump_keys(recorder.store)
        assert [0, 1, 2] == kinds(recorder, STEP_FRAME)
        told = [
            frame.meta["error"] for frame in read_frames(recorder.store) if "error" in frame.meta
        ]
        assert (["RuntimeError: boom"] if state == "failed" else []) == told

    def test_a_store_that_is_not_local_gets_the_dump(self):
        """Its ring lies in the folder for temporary files, and is removed."""
        recorder = recorder_of("memory://black-box-dump", Finder(1))
        path = recorder.black_box._ring.path
        train(recorder, range(4))
        assert path.exists()
        assert [0, 1, 2, 3] == kinds(recorder, STEP_FRAME)
        recorder.close("failed", "boom")

        assert len(dump_keys(recorder.store)) == 2
        assert not path.exists()


class TestOpenStep:
    def test_how_much_is_kept_raw_is_counted_as_it_changes(self, tmp_path):
        """What takes the place of an array, or goes, is not counted twice; room ends raw values."""
        recorder = recorder_of(tmp_path)
        step = recorder.open_step(Mode.TRAIN)
        infos = [TensorInfo(name, "weights", "float32", (4,)) for name in "abcd"]
        step.raw_room = 40
        held = []
        for info in (infos[0], infos[0], *infos[1:]):
            step.add(info, np.ones(4, np.float32))
            held.append(step.raw.size_bytes)
        step.claim(infos[0])[:] = 0

        assert [16, 16, 32, 48, 48] == held
        assert (32, {"b", "c"}) == (step.raw.size_bytes, set(step.raw))
        recorder.close()


class TestQueue:
    def test_a_full_queue_leaves_frames_out_and_nobody_waits(self, tmp_path):
        """That is counted, and not as a step that was dropped."""
        recorder, gate = recorder_of(tmp_path), threading.Event()
        box, meta = recorder.black_box, {"mode": "TRAIN", "mode_step": 0, "step": 0}
        recorder.flush()
        recorder._carrier.background.submit(gate.wait, 200 << 20)
        kept = [box.keep_later(BEGIN_FRAME, meta, dict, size << 20) for size in (1, 100, 1)]
        gate.set()
        end = recorder.close("interrupted")

        assert [True, False, True] == kept
        assert (1, 0, 2) == (box.left_out, end.dropped, len(kinds(recorder, BEGIN_FRAME)))
