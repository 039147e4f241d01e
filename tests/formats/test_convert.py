"""From one format to another and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepwatch import Trial
from stepwatch.errors import ConfigError
from stepwatch.formats import run_format
from stepwatch.formats.convert import convert
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.formats.smdebug.event_files import EventFiles
from stepwatch.formats.smdebug.index import parse_index
from stepwatch.formats.smdebug.layout import parse_step_key
from stepwatch.formats.verification import verify
from stepwatch.model.record import Layout
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import FIELDS, MIN, summarize
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record
from tests.support.formats.smdebug.smdebug_runs import put_collections, put_end, put_step

GOLDEN = Path(__file__).parents[1] / "golden/runs"


@pytest.fixture
def store(request):
    """Return a function that opens an empty store of this test's own."""
    return lambda name: open_store(f"memory://{request.node.name}-{name}")


def write_native(store, *, raw, workers=1, ended=True):
    """Write a run of two modes and return the arrays of each of its steps."""
    generator = np.random.default_rng(7)
    manifest = Manifest("made", 0, num_workers=workers)
    start_run(store, manifest)
    written = {}
    for rank in range(workers):
        writer = NativeWriter(store, f"worker_{rank}")
        for step in range(6):
            mode = Mode.EVAL if step % 3 == 2 else Mode.TRAIN
            arrays = {
                "fc.weight": generator.normal(size=(3, 4)).astype(np.float32),
                "gradient/fc.weight": generator.normal(size=(3, 4)).astype(np.float32),
                "loss/mse_loss": np.float32(generator.normal()),
            }
            written[f"worker_{rank}", step] = (mode, arrays)
            within = step // 3 if mode is Mode.EVAL else step - (step + 1) // 3
            writer.write(
                make_record(
                    step,
                    arrays,
                    mode=mode,
                    mode_step=within,
                    worker=f"worker_{rank}",
                    raw=raw,
                )
            )
        if ended:
            writer.close(End("finished", 1, 6))
        else:
            writer.flush()
    return written


def convert_twice(store, source):
    """Convert a native run to smdebug's format and that to native; return both."""
    there, back = store("there"), store("back")
    convert(Trial(source).reader, there, "smdebug")
    convert(Trial(there).reader, back, "native")
    return Trial(there), Trial(back)


class TestThereAndBack:
    def test_full_values_come_back_bit_for_bit(self, store):
        """Of every step, mode and worker."""
        written = write_native(store("source"), raw=True, workers=2)
        for trial in convert_twice(store, store("source")):
            assert ("worker_0", "worker_1") == trial.workers
            assert [0, 1, 2, 3, 4, 5] == trial.steps()
            assert [0, 1, 2, 3] == trial.steps(Mode.TRAIN)
            for (worker, step), (_, arrays) in written.items():
                for name, array in arrays.items():
                    found = trial.tensor(name).value(step, worker=worker)
                    assert (array.dtype, array.shape) == (found.dtype, found.shape)
                    assert array.tobytes() == found.tobytes()

    def test_statistics_come_back(self, store):
        """To the rounding of float64, where a norm is squared again."""
        written = write_native(store("source"), raw=False)
        for trial in convert_twice(store, store("source")):
            for (_, step), (_, arrays) in written.items():
                for name, array in arrays.items():
                    series = trial.tensor(name).statistics()
                    row = series.rows[list(series.steps).index(step)]
                    kept = [0, *range(MIN, len(FIELDS))]
                    assert summarize(array)[kept] == pytest.approx(row[kept], rel=1e-12)

    def test_kinds_state_and_how_it_ended_come_back(self, store):
        """They lie beside the observations."""
        write_native(store("source"), raw=True)
        for trial in convert_twice(store, store("source")):
            expected = {
                "fc.weight": "weights",
                "gradient/fc.weight": "gradients",
                "loss/mse_loss": "losses",
            }
            assert expected == trial.reader.tensors()
            assert "finished" == trial.state
            assert 6 == trial.reader.ends()["worker_0"].steps

    def test_a_run_that_did_not_end_does_not_end_by_it(self, store):
        """What is still being written is converted as it is."""
        write_native(store("source"), raw=True, ended=False)
        for trial in convert_twice(store, store("source")):
            assert "running" == trial.state
            assert [0, 1, 2, 3, 4, 5] == trial.steps()


class TestOldRuns:
    @pytest.mark.parametrize("name", ["tf2_keras_fit_eager", "pt_reductions_shapes", "xgb_saveall"])
    def test_tensors_and_values_are_the_same_after_both_ways(self, store, name):
        """A name that ends in ``:0`` is no other tensor; text and complex numbers are kept."""
        source = Trial(GOLDEN / name)
        there, back = store("there"), store("back")
        convert(source.reader, there, "native")
        convert(Trial(there).reader, back, "smdebug")
        for trial in (Trial(there), Trial(back)):
            assert source.tensor_names() == trial.tensor_names()
            for tensor in source.tensor_names():
                values = source.tensor(tensor).values()
                found = trial.tensor(tensor).values()
                assert values.keys() == found.keys()
                for step, value in values.items():
                    np.testing.assert_array_equal(value, found[step])


class TestLosses:
    def test_what_does_not_fit_is_told_with_the_tensors_it_befell(self, store):
        """Zeros cannot be counted without values."""
        source = store("source")
        start_run(source, Manifest("made", 0))
        writer = NativeWriter(source, "worker_0")
        writer.write(make_record(0, {"fc.weight": np.array([0.0, 1.0])}))
        writer.close(End("finished", 1, 1))
        losses = convert(Trial(source).reader, store("there"), "smdebug")

        assert ["how many elements are zero, nan or infinite (1 tensor: fc.weight)"] == (
            losses.lines()
        )

    def test_nothing_is_told_where_all_fits(self, store):
        """Full values hold everything."""
        write_native(store("source"), raw=True)
        losses = convert(Trial(store("source")).reader, store("there"), "smdebug")

        assert [] == losses.lines()

    @pytest.mark.parametrize("target", ["smdebug", "tensorboard"])
    def test_what_only_the_native_format_has_a_place_for_is_told(self, store, target, tmp_path):
        """Digests, histograms of exponents, and where a part lies in the whole."""
        source = store("source")
        record = make_record(0, {"fc.weight": np.ones(2), "loss/mse": 1.0}, raw=True)
        tensors = tuple(replace(one, offset=(0,)) for one in record.layout.tensors[:1])
        start_run(source, Manifest("made", 0))
        writer = NativeWriter(source, "worker_0")
        writer.write(
            replace(
                record,
                layout=Layout(tensors + record.layout.tensors[1:]),
                digests={"fc.weight": 1, "loss/mse": 2},
                exponents={"fc.weight": np.zeros(64, np.int64)},
            )
        )
        writer.close(End("finished", 1, 1))
        lines = convert(Trial(source).reader, open_store(tmp_path / "there"), target).lines()

        assert [
            "digests (2 tensors: fc.weight, loss/mse)",
            "histograms of exponents (1 tensor: fc.weight)",
            "where the part of a worker begins in the whole tensor (1 tensor: fc.weight)",
        ] == lines[:3]

    def test_nothing_of_it_is_lost_between_native_runs(self, store):
        """The format that has a place for everything."""
        source = store("source")
        record = make_record(0, {"fc.weight": np.ones(2)})
        start_run(source, Manifest("made", 0))
        writer = NativeWriter(source, "worker_0")
        counts = np.arange(64)
        writer.write(replace(record, digests={"fc.weight": 7}, exponents={"fc.weight": counts}))
        writer.close(End("finished", 1, 1))
        losses = convert(Trial(source).reader, store("there"), "native")
        found = Trial(store("there")).tensor("fc.weight")

        assert [] == losses.lines()
        assert (7, counts.tolist()) == (found.digest(0), found.exponents(0).tolist())

    def test_an_unknown_format_is_refused(self, store):
        """The message names those there are."""
        write_native(store("source"), raw=True)
        with pytest.raises(ConfigError, match="did you mean smdebug"):
            convert(Trial(store("source")).reader, store("there"), "smdebg")
        assert run_format(store("there")) is None


DEVICE = "/job:worker/replica:0/task:1/device:GPU:0"


def put_device_run(store):
    """Write a step of a device of TensorFlow, with reductions, a shape and a collection."""
    put_collections(store, DEVICE, collections={"mine": {"tensor_names": ["w:0"]}})
    values = {
        "w:0": np.float32([1, 2]),
        "smdebug/reductions/l1/v": np.float64([3.0]),
        "one": np.float64([7.5]),
    }
    put_step(store, 4, values, worker=DEVICE, shapes={"s": [4, 2]})
    put_end(store)


def records_of(store):
    """Return all that index and event files say, but for when."""
    found = {}
    for key in store.list("index/"):
        step, worker = parse_step_key(key)
        saved = parse_index(key, store.get(key), step)
        events = [EventFiles(store).event(saved, name) for name in saved.contents.byte_ranges]
        values = [(x.tag, x.value.dtype, x.value.shape, x.value.tobytes()) for x in events]
        shapes = list(saved.contents.shapes.items())
        found[worker, step] = (saved.mode, saved.mode_step, saved.event_key, values, shapes)
    return found


class TestThereAndBackFromSmdebug:
    @pytest.mark.parametrize("name", [*sorted(path.name for path in GOLDEN.iterdir()), "device"])
    def test_the_same_is_stored(self, store, name):
        """Every record, shape and collection, in order, and nothing else."""
        first, native, back = store("first"), store("native"), store("back")
        if name == "device":
            put_device_run(first)
        else:
            first = open_store(GOLDEN / name)
        convert(Trial(first).reader, native, "native")
        losses = convert(Trial(native).reader, back, "smdebug")
        files = [
            {key: json.loads(one.get(key)) for key in one.list("collections/")}
            for one in (first, back)
        ]

        assert [] == losses.lines()
        assert records_of(first) == records_of(back)
        assert files[0] == files[1]
        assert bool(first.list("training_job_end.ts")) == bool(back.list("training_job_end.ts"))

    @pytest.mark.parametrize("target", ["native", "tensorboard"])
    def test_a_device_is_a_worker(self, store, target):
        """Its name is no path."""
        put_device_run(store("first"))
        convert(Trial(store("first")).reader, store("there"), target)

        assert any("_job-worker_replica-0_task-1_device-GPU-0" in x for x in store("there").list())
        if target == "native":
            trial = Trial(store("there"))
            assert (DEVICE,) == trial.workers
            assert "finished" == trial.state
            np.testing.assert_array_equal([1, 2], trial.tensor("w:0").value(4, worker=DEVICE))
            assert [] == verify(store("there")).damages

    def test_one_of_whose_workers_nothing_came_ends_as_well(self, store):
        """It has an end, and its collections."""
        for worker in ("worker_0", "worker_1"):
            put_collections(store("first"), worker, num_workers=2)
        put_step(store("first"), 0, {"w": np.ones(2)})
        put_end(store("first"))
        convert(Trial(store("first")).reader, store("native"), "native")
        convert(Trial(store("native")).reader, store("back"), "smdebug")

        assert "finished" == Trial(store("native")).state
        assert store("back").list("training_job_end.ts")
        assert 2 == len(store("back").list("collections/"))
