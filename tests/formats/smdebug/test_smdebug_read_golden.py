"""Every run of the real smdebug is read as smdebug itself reads it, but for what it gets wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from stepwatch.formats.smdebug.collections import collections_from_json, collections_to_json
from stepwatch.formats.smdebug.layout import COLLECTIONS
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.formats.smdebug.reductions import REDUCTION_PREFIX
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch.trial import Trial
from tests.support.formats.smdebug.golden_runs import RUNS, described, expected, golden_run

#: What smdebug's own reader gets wrong, and what was saved.
WRONG = {
    ("dtypes", "i8"): np.array([-1], np.int8),
    ("dtypes", "i16"): np.array([-1], np.int16),
    ("dtypes", "u16"): np.array([65535], np.uint16),
    ("dtypes", "u32"): np.array([1], np.uint32),
    ("dtypes", "u64"): np.array([1], np.uint64),
    ("dtypes", "c64"): np.array([1 + 2j], np.complex64),
    ("dtypes", "empty"): np.zeros((0, 3), np.float32),
}
MODES = ("TRAIN", "EVAL", "PREDICT", "GLOBAL")


def names_of(trial: Trial) -> list[str]:
    """Return the names of tensors, without reductions that are shown as such."""
    return [name for name in trial.tensor_names() if not name.startswith(REDUCTION_PREFIX)]


def observed_at(reader: SmdebugReader, name: str) -> dict[int, list[str]]:
    """Return the workers that show a tensor, by step, whether the step is complete or not."""
    found: dict[int, list[str]] = {}
    for worker, table in reader.observations(frozenset([name]), ["step"]):
        for step in table.column("step").to_pylist():
            found.setdefault(step, []).append(worker)
    return found


@pytest.mark.parametrize("run", RUNS)
class TestGoldenRuns:
    def test_steps_are_those_of_smdebug(self, run: str):
        """Complete steps, all steps, and the steps of each mode."""
        trial = Trial(golden_run(run))

        answers = expected(run)
        assert answers["steps"] == trial.steps()
        assert answers["steps_incomplete"] == trial.steps(incomplete=True)
        for mode in MODES:
            assert answers["mode_steps"][mode] == trial.steps(mode)

    def test_every_step_has_the_mode_of_the_index(self, run: str):
        """Mode and mode step of each complete step."""
        reader = Trial(golden_run(run)).reader

        steps = {
            str(range_.first + number * range_.stride): [
                range_.mode.value,
                range_.mode_first + number * range_.mode_stride,
            ]
            for worker in reader.workers
            for range_ in reader.step_ranges(worker)
            for number in range(range_.count)
        }
        answers = expected(run)["mode_modestep"]
        assert answers == {step: steps[step] for step in answers}

    def test_completeness_is_that_of_smdebug(self, run: str):
        """Who writes, how many, and up to which step they all did."""
        trial = Trial(golden_run(run))

        answers = expected(run)
        manifest = trial.reader.manifest
        last = trial.reader.last_complete(trial.reader.ends(), manifest.num_workers)
        assert answers["workers"] == list(trial.workers)
        assert answers["num_workers"] == manifest.num_workers
        assert answers["last_complete_step"] == last
        assert answers["loaded_all_steps"] == trial.ended

    def test_tensors_are_those_of_smdebug(self, run: str):
        """Their names, and who saved them at which steps."""
        trial = Trial(golden_run(run))

        answers = expected(run)
        assert answers["tensor_names"] == names_of(trial)
        for name, tensor in answers["tensors"].items():
            wanted = {int(step): at["workers"] for step, at in tensor["at"].items()}
            assert wanted == observed_at(trial.reader, name)
            assert tensor["steps"] == trial.tensor(name).steps()

    def test_values_are_bit_for_bit_those_of_smdebug(self, run: str):
        """Dtype, shape and bytes; a value that is there where smdebug says that none is, too."""
        reader = Trial(golden_run(run)).reader
        for name, tensor in expected(run)["tensors"].items():
            for step, at in tensor["at"].items():
                for worker, answer in at["value"].items():
                    if (run, name) in WRONG:
                        answer = described(WRONG[run, name])
                    if "error" not in answer:
                        value = described(reader.value(worker, int(step), name))
                        assert _exactly(answer) == _exactly(value)
                    else:
                        assert name not in reader.saved(worker, int(step)).contents.tensors

    def test_stored_reductions_are_those_of_smdebug(self, run: str):
        """Which there are, and their values."""
        reader = Trial(golden_run(run)).reader
        for name, tensor in expected(run)["tensors"].items():
            for step, at in tensor["at"].items():
                worker = at["workers"][0]
                found = {
                    reduction.stored: described(
                        reader.reduction(worker, int(step), name, reduction)
                    )
                    for reduction in reader.saved(worker, int(step)).contents.reductions.get(
                        name, ()
                    )
                }
                assert at["reductions"] == found

    def test_shapes_are_those_of_smdebug(self, run: str):
        """Saved by themselves or of the value, and in the rows of observations."""
        trial = Trial(golden_run(run))
        for name, tensor in expected(run)["tensors"].items():
            if (run, name) in WRONG:
                continue
            shapes = {step: tensor["at"][str(step)]["shape"] for step in tensor["steps"]}
            steps = trial.tensor(name).statistics().steps.tolist()
            assert shapes == dict(zip(steps, _shapes(trial, name), strict=True))

    def test_original_names_are_those_of_smdebug(self, run: str):
        """Only of tensors whose shape was saved by itself."""
        reader = Trial(golden_run(run)).reader
        for name, tensor in expected(run)["tensors"].items():
            for step, at in tensor["at"].items():
                shapes = reader.saved(at["workers"][0], int(step)).contents.shapes
                original = shapes[name][1] if name in shapes else None
                assert tensor["original_name"] == original

    def test_collections_are_those_of_smdebug(self, run: str):
        """As JSON, with the tensors of all workers."""
        manifest = Trial(golden_run(run)).reader.manifest

        assert expected(run)["collections"] == manifest.debugger_collections["collections"]

    def test_the_tensors_of_collections_follow_from_them(self, run: str):
        """smdebug's tensors of a collection are those that it holds."""
        trial = Trial(golden_run(run))

        held = {
            name: [tensor for tensor in names_of(trial) if one.holds(tensor)]
            for name, one in trial.reader.collections.items()
        }
        assert expected(run)["collection_tensors"] == held

    def test_a_collections_file_written_again_has_the_same_bytes(self, run: str):
        """Unless no hook prepared the collections: then it leaves things open."""
        store = open_store(golden_run(run))
        (key, *_) = store.list(COLLECTIONS)
        data = store.get(key)
        parsed, num_workers = collections_from_json("key", data)

        again = json.dumps(collections_to_json(parsed, {}, num_workers)).encode()
        assert data == again or b'"save_config": null' in data


def _exactly(answer: dict[str, Any]) -> str:
    return json.dumps(answer, sort_keys=True)  # a nan is not equal to itself


def _shapes(trial: Trial, name: str) -> list[Any]:
    series = trial.tensor(name).statistics()
    column = series.to_arrow([]).column("shape").to_pylist()
    return [json.loads(text) for text in column]


class TestGoldenModes:
    def test_modes_count_for_themselves(self):
        """A value is found by the step within its mode."""
        tensor = Trial(golden_run("modes_interleaved")).tensor("t")

        assert [7.0, 0.0] == tensor.value(3, Mode.EVAL).tolist()
