"""Frames: facts and arrays come back, from a ring that is written to and from dumps alike."""

from __future__ import annotations

import itertools
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from stepwatch.errors import CorruptRun
from stepwatch.formats.blackbox import (
    BEGIN_FRAME,
    LAYOUT_FRAME,
    STATISTICS_ARRAY,
    STEP_FRAME,
    STEPS_FRAME,
    CompleteFrame,
    Frame,
    decode_frame,
    dump_key,
    encode_frame,
    encode_scalars,
    layout_meta,
    open_ring,
    read_frames,
    read_records,
    remove_ring,
    step_frames,
    step_records,
)
from stepwatch.model.record import ScalarRow, ScalarSteps
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize
from stepwatch.store import open_store
from stepwatch.testing import make_record

_numbers = itertools.count()


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path):
    """A store whose rings lie in it, and one whose rings lie elsewhere."""
    if request.param == "folder":
        return open_store(tmp_path / "run with space")
    return open_store(f"memory://frames-{next(_numbers)}")


def write(ring, number, kind=BEGIN_FRAME, **facts):
    meta = {"mode": "TRAIN", "mode_step": number, "step": number, **facts}
    assert ring.write(encode_frame(kind, meta, {"x": np.full(10, number)}))


class TestFrame:
    def test_facts_and_arrays_come_back(self):
        """Whatever their dtype and shape."""
        arrays = {
            "scalar": np.array(3.5),
            "empty": np.empty((0, 4), np.float32),
            "bf16": np.ones((2, 3), ml_dtypes.bfloat16),
            "turned": np.arange(6).reshape(2, 3).T,
            "flags": np.array([True, False]),
        }
        parts = encode_frame("begin", {"mode_step": 4, "nested": [1, None]}, arrays)
        data = b"".join(bytes(part) for part in parts)
        frame = decode_frame("worker_0", CompleteFrame(0, len(data), 9, memoryview(data)))

        assert ("begin", 9, 4) == (frame.kind, frame.sequence, frame.mode_step)
        assert {"mode_step": 4, "nested": [1, None]} == frame.meta
        assert arrays.keys() == frame.arrays.keys()
        for name, array in arrays.items():
            assert array.dtype == frame.arrays[name].dtype
            assert np.array_equal(array, frame.arrays[name])

    @pytest.mark.parametrize("data", [b"", b"\xff\xff\xff\xff{}", b"\2\0\0\0[]", b"\2\0\0\0{}"])
    def test_what_is_no_frame_is_told(self, data):
        """Its checksum may be right all the same."""
        with pytest.raises(CorruptRun, match="frame 1 of worker_0"):
            decode_frame("worker_0", CompleteFrame(0, len(data), 1, memoryview(data)))


class TestPlaces:
    def test_ring_and_dumps_are_read_as_one(self, store):
        """Each frame once, in order, also while the ring is written to."""
        ring = open_ring(store, "worker_0", 1 << 14)
        for number in range(100):
            write(ring, number)
            if number in (30, 50):
                store.put(dump_key("worker_0", number, "loss spike!"), ring.content())
        found = [frame.mode_step for frame in read_frames(store)]

        assert sorted(set(found)) == found
        assert {*range(20, 51), *range(90, 100)} <= set(found)
        assert np.full(10, 99).tolist() == read_frames(store)[-1].arrays["x"].tolist()

    def test_workers_are_told_apart(self, store):
        """Each counts by itself."""
        for worker in ("worker_0", "worker_1"):
            write(open_ring(store, worker, 1 << 14), 3)

        assert ["worker_0", "worker_1"] == [frame.worker for frame in read_frames(store)]
        assert ["worker_1"] == [frame.worker for frame in read_frames(store, "worker_1")]

    def test_a_removed_ring_leaves_nothing_but_dumps(self, store):
        """Neither the file nor what said where it was."""
        ring = open_ring(store, "worker_0", 1 << 14)
        write(ring, 1)
        store.put(dump_key("worker_0", 1, "x"), ring.content())
        remove_ring(store, "worker_0", ring.path)

        assert ["blackbox/worker_0/1-x.frames"] == store.list()
        assert not Path(ring.path).exists()
        assert [1] == [frame.mode_step for frame in read_frames(store)]

    def test_a_run_without_a_box_has_no_frames(self, store):
        """It is no error."""
        assert [] == read_frames(store)


class TestSteps:
    def test_steps_are_the_records_that_they_were(self, store):
        """Names, statistics, full values, numbers."""
        ring = open_ring(store, "worker_0", 1 << 14)
        record = make_record(7, {"w": np.ones((2, 3)), "loss/x": np.float32(2)}, mode_step=5)
        meta = {"mode": "TRAIN", "mode_step": 5, "step": 7, "time_ns": 1, "layout": 1}
        arrays = {STATISTICS_ARRAY: record.statistics, "raw/w": np.ones((2, 3))}
        ring.write(encode_frame(STEP_FRAME, meta, arrays))
        assert [] == step_records(read_frames(store))  # nobody knows what the rows are
        ring.write(encode_frame(LAYOUT_FRAME, layout_meta(1, record.layout), {}))
        (found,) = step_records(read_frames(store))

        assert (7, 5, record.layout.tensors) == (found.step, found.mode_step, found.layout.tensors)
        assert np.array_equal(record.statistics, found.statistics)
        assert np.array_equal(np.ones((2, 3)), found.raw["w"])

    def test_steps_of_a_few_numbers_are_the_records_that_they_were(self, store):
        """Many of them lie in one frame; also a value that is not finite comes back."""
        ring = open_ring(store, "worker_0", 1 << 14)
        losses, mixed = (
            make_record(0, {name: np.float32(1) for name in names}).layout
            for names in (("loss/x",), ("loss/x", "learning_rate/0"))
        )
        rows = [
            ScalarRow(Mode.TRAIN, losses, 3, 1, 30, (0.5,)),
            ScalarRow(Mode.TRAIN, losses, 4, 2, 40, (np.inf,)),
            ScalarRow(Mode.EVAL, losses, 5, 0, 50, (-0.25,)),
            ScalarRow(Mode.TRAIN, mixed, 6, 3, 60, (0.0, 0.1)),
        ]
        batches = ScalarSteps.of("worker_0", rows)
        for number, layout in ((1, losses), (2, mixed)):
            ring.write(encode_frame(LAYOUT_FRAME, layout_meta(number, layout), {}))
        for batch, number in zip(batches, (1, 1, 2), strict=True):
            ring.write(encode_scalars(batch, number, 0))
        found = step_records(read_frames(store))

        assert [2, 1, 1] == [len(batch.numbers) for batch in batches]
        assert [(*row[:1], *row[2:5]) for row in rows] == [
            (one.mode, one.step, one.mode_step, one.time_ns) for one in found
        ]
        expected = [[summarize(np.float64(value)) for value in row.values] for row in rows]
        for one, rows_of_one in zip(found, expected, strict=True):
            assert np.array_equal(rows_of_one, one.statistics, equal_nan=True)

    def test_of_steps_that_are_stored_nothing_is_decoded(self, store):
        """Steps of a few numbers come late; of a step that is not wanted no number is looked at."""
        ring = open_ring(store, "worker_0", 1 << 14)
        record = make_record(9, {"loss/x": np.float32(2)}, mode_step=9)
        ring.write(encode_frame(LAYOUT_FRAME, layout_meta(1, record.layout), {}))
        about = {"mode": "TRAIN", "layout": 1, "time_ns": 1}
        broken = encode_frame(STEP_FRAME, {**about, "mode_step": 2, "step": 2}, {})
        ring.write([*broken, b"no numbers"])
        whole = {**about, "mode_step": 9, "step": 9}
        ring.write(encode_frame(STEP_FRAME, whole, {STATISTICS_ARRAY: record.statistics}))
        rows = [ScalarRow(Mode.TRAIN, record.layout, step, step, 1, (0.5,)) for step in (3, 4)]
        ring.write(encode_scalars(*ScalarSteps.of("worker_0", rows), 1, 0))

        assert [9, 4] == [one.step for one in read_records(store, {"worker_0": 3})]
        with pytest.raises(CorruptRun):
            read_records(store, {})

    def test_a_frame_of_steps_that_does_not_fit_together_is_refused(self):
        meta = {"mode": "TRAIN", "layout": 1, "left_out": 0}
        arrays = {"numbers": np.zeros((2, 3), np.int64), "values": np.zeros((3, 1))}
        with pytest.raises(CorruptRun, match="no steps"):
            list(step_frames(Frame(STEPS_FRAME, "worker_0", meta, arrays)))

    def test_a_foretold_step_is_told_as_the_one_that_it_became(self, store):
        """An evaluation may end between the beginning and the end of a step."""
        ring = open_ring(store, "worker_0", 1 << 14)
        write(ring, 4)
        write(ring, 4, STEP_FRAME, step=6)
        write(ring, 5)

        assert [6, 6, 5] == [frame.meta["step"] for frame in read_frames(store)]
