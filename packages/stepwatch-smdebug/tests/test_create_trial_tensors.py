"""Tensors of a trial: their names, values, reductions and shapes, from either format."""

from __future__ import annotations

import time

import numpy as np
import pytest

from smdebug import CollectionKeys, modes
from smdebug.core.collection import Collection
from smdebug.exceptions import (
    InvalidWorker,
    NoMoreData,
    ShapeUnavailableForStep,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.trials import create_trial
from stepwatch.formats.smdebug.collections import Reduction, SavedCollection, Stored
from stepwatch.model.steps import Mode
from tests.support.compat.debugger_runs import Written, finished, golden_copy, golden_run

A = np.float32([[1, -2], [3, 4]])
MATRIX = np.float32([[3, 0], [0, 4]])
ARRAYS = {"fc.weight": A, "fc.bias": np.float32([7]), "gradient/fc.weight": MATRIX, "loss/l": 0.5}
FORMATS = ("smdebug", "native")


def finished_with_raw(url, format):
    """Return a finished run of three steps whose values are all there, as a trial."""
    return create_trial(finished(url, dict.fromkeys((0, 5, 10), ARRAYS), format=format))


@pytest.fixture(params=FORMATS)
def trial(request, tmp_path):
    """A finished run of three steps, in either format."""
    return finished_with_raw(tmp_path, request.param)


class TestNames:
    def test_all(self, trial):
        """Sorted."""
        assert sorted(ARRAYS) == trial.tensor_names()

    def test_of_a_collection(self, trial):
        """By its name."""
        assert ["gradient/fc.weight"] == trial.tensor_names(collection="gradients")

    def test_of_a_collection_itself(self, trial):
        """As an object."""
        collection = trial.collection("gradients")

        assert ["gradient/fc.weight"] == trial.tensor_names(collection=collection)

    def test_of_a_collection_that_was_changed_here(self, trial):
        """An analysis may gather tensors by itself, and that lasts."""
        trial.collection("mine").include("bias$")

        assert ["fc.bias"] == trial.tensor_names(collection="mine")

    def test_of_a_collection_of_somebody_else(self, trial):
        """It need not be known to the trial."""
        assert ["fc.bias"] == trial.tensor_names(collection=Collection("own", ["bias$"]))

    def test_of_a_collection_that_is_not_there(self, trial):
        """Nothing, and it is made, as ``collection`` does."""
        assert ([], "nosuch") == (
            trial.tensor_names(collection="nosuch"),
            trial.collections()["nosuch"].name,
        )

    def test_what_is_no_collection(self, trial):
        """The error names it."""
        with pytest.raises(SMDebugTypeError, match="got 3"):
            trial.tensor_names(collection=3)

    @pytest.mark.parametrize("patterns", ["^fc", ["^fc"], ["^fc.w", "^fc.b"]])
    def test_that_a_pattern_finds(self, trial, patterns):
        """One pattern or several."""
        assert ["fc.bias", "fc.weight"] == trial.tensor_names(regex=patterns)

    def test_under_the_other_name_of_the_argument(self, trial):
        """``tensors_regex`` is ``regex``."""
        assert ["fc.bias", "fc.weight"] == trial.tensor_names(tensors_regex="^fc")

    def test_pattern_or_collection(self, trial):
        """Not both, as in smdebug."""
        with pytest.raises(ValueError, match="not both"):
            trial.tensor_names(regex="a", collection="weights")

    @pytest.mark.parametrize("asked", [(5,), (5, modes.TRAIN), (5, modes.TRAIN, "fc")])
    def test_by_position(self, trial, asked):
        """The order of the guide: step, mode, regex."""
        assert {"fc.weight", "fc.bias"} <= set(trial.tensor_names(*asked))

    def test_the_old_first_argument(self, trial):
        """``show_prefixed_tensors`` stood there, and is no step."""
        assert sorted(ARRAYS) == trial.tensor_names(True)

    @pytest.mark.parametrize(
        "asked",
        [
            {"step": 3},
            {"step": 99},
            {"step": 0, "mode": modes.EVAL},
            {"mode": modes.PREDICT},
            {"node": "worker_9"},
            {"step": 5, "node": "worker_9"},
        ],
    )
    def test_where_there_is_nothing(self, trial, asked):
        """Unknown steps, modes and workers have no tensors; smdebug raises for some."""
        assert [] == trial.tensor_names(**asked)

    def test_of_a_mode(self, tmp_path):
        """Only those that the mode saved."""
        run = Written(tmp_path)
        run.step(0, {"w": A})
        run.step(1, {"v": A}, mode=Mode.EVAL, mode_step=0)
        run.end()

        assert ["v"] == create_trial(run.url).tensor_names(mode=modes.EVAL)

    def test_of_a_worker(self, tmp_path):
        """Each worker may save others."""
        run = Written(tmp_path, workers=2)
        run.step(0, {"w": A}, workers=(0,))
        run.step(0, {"v": A}, workers=(1,))
        run.end()
        trial = create_trial(run.url)

        assert (["v"], ["v"]) == (
            trial.tensor_names(node="worker_1"),
            trial.tensor_names(step=0, node="worker_1"),
        )

    def test_under_the_oldest_name(self, trial):
        """The guide's rule calls it ``tensors``."""
        assert ["gradient/fc.weight"] == trial.tensors(collection="gradients")

    def test_an_unknown_tensor(self, trial):
        """It is known that there is none."""
        with pytest.raises(TensorUnavailable) as caught:
            trial.tensor("nosuch")

        assert (False, "nosuch") == (trial.has_tensor("nosuch"), caught.value.tname)

    def test_biases_of_a_run_of_ours(self, tmp_path):
        """Stepwatch has no such collection; old analyses ask for it."""
        trial = finished_with_raw(tmp_path, "native")

        assert ["fc.bias"] == trial.tensor_names(collection=CollectionKeys.BIASES)


class TestValues:
    def test_a_value(self, trial):
        """By keyword, as notebooks ask, and as it was."""
        value = trial.tensor("fc.weight").value(step_num=5, mode=modes.GLOBAL)

        assert ((A.tolist(), np.float32)) == (value.tolist(), value.dtype)

    def test_by_mode_step(self, tmp_path):
        """Counted in a mode."""
        run = Written(tmp_path)
        run.step(0, {"w": A})
        run.step(1, {"w": A + 1}, mode=Mode.EVAL, mode_step=0)
        run.end()
        value = create_trial(run.url).tensor("w").value(0, mode=modes.EVAL)

        assert (A + 1).tolist() == value.tolist()

    def test_all_values(self, trial):
        """By step."""
        values = trial.tensor("loss/l").values()

        assert {0: 0.5, 5: 0.5, 10: 0.5} == {step: float(one) for step, one in values.items()}

    def test_of_a_worker(self, tmp_path):
        """The first by name where none is named."""
        run = Written(tmp_path, workers=2)
        run.step(0, {"w": A}, workers=(0,))
        run.step(0, {"w": A + 1}, workers=(1,))
        run.end()
        tensor = create_trial(run.url).tensor("w")

        assert (1, 2, 1, ["worker_0", "worker_1"]) == (
            tensor.value(0, worker="worker_0")[0, 0],
            tensor.value(0, worker="worker_1")[0, 0],
            tensor.value(0)[0, 0],
            tensor.workers(0),
        )

    def test_of_a_worker_that_is_not_there(self, trial):
        """The error names it."""
        with pytest.raises(InvalidWorker, match="worker_9"):
            trial.tensor("fc.weight").value(0, worker="worker_9")

    @pytest.mark.parametrize("error", [StepUnavailable, NoMoreData])
    @pytest.mark.parametrize("step", [3, 99])
    def test_at_a_step_that_was_not_saved(self, trial, step, error):
        """Old loops catch either."""
        with pytest.raises(error):
            trial.tensor("fc.weight").value(step)

    def test_at_a_step_without_it(self, tmp_path):
        """The step is there, the tensor is not."""
        trial = create_trial(finished(tmp_path, {0: {"w": A}, 1: {"v": A}}))
        with pytest.raises(TensorUnavailableForStep) as caught:
            trial.tensor("w").value(1)

        assert ("w", 1, modes.GLOBAL, False) == (
            caught.value.tname,
            caught.value.step,
            caught.value.mode,
            caught.value.has_reductions,
        )

    def test_at_a_step_that_may_come(self, tmp_path):
        """The training goes on."""
        run = Written(tmp_path)
        run.step(0, {"w": A})

        with pytest.raises(StepNotYetAvailable):
            create_trial(run.url).tensor("w").value(1)

    def test_of_an_incomplete_step(self, tmp_path):
        """What is there can be read."""
        run = Written(tmp_path, workers=2)
        run.step(0, {"w": A}, workers=(0,))

        assert A.tolist() == create_trial(run.url).tensor("w").value(0).tolist()

    def test_whose_file_is_gone(self, tmp_path):
        """The index names it, and it will never come."""
        place = golden_copy("many_index_dirs", tmp_path)
        (place / "events" / "000000000999" / "000000000999_worker_0.tfevents").unlink()

        with pytest.raises(TensorUnavailableForStep):
            create_trial(str(place)).tensor("t").value(999)

    def test_whose_file_comes_late(self, tmp_path, monkeypatch):
        """An upload may bring the index first; the value is waited for."""
        place = golden_copy("mw_partial_running", tmp_path)
        event = place / "events" / "000000000003" / "000000000003_worker_0.tfevents"
        late = event.rename(place / "late")
        monkeypatch.setattr(time, "sleep", lambda _: late.rename(event))

        assert [3, 0] == create_trial(str(place)).tensor("t").value(3).tolist()

    def test_whose_file_was_passed_over(self, tmp_path, monkeypatch):
        """The worker wrote later ones, so it will not come."""
        monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))
        place = golden_copy("mw_partial_running", tmp_path)
        (place / "events" / "000000000001" / "000000000001_worker_0.tfevents").unlink()

        with pytest.raises(TensorUnavailableForStep):
            create_trial(str(place)).tensor("t").value(1)

    def test_whose_file_never_comes(self, tmp_path, monkeypatch):
        """There is an end to waiting."""
        monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "0")
        place = golden_copy("mw_partial_running", tmp_path)
        (place / "events" / "000000000003" / "000000000003_worker_0.tfevents").unlink()

        with pytest.raises(TensorUnavailableForStep):
            create_trial(str(place)).tensor("t").value(3)

    def test_kept_in_memory(self, tmp_path):
        """Only where that is asked for."""
        url = finished(tmp_path, {0: {"w": A}})
        kept, read = create_trial(url, cache=True).tensor("w"), create_trial(url).tensor("w")

        assert (True, False) == (kept.value(0) is kept.value(0), read.value(0) is read.value(0))

    def test_previous_steps(self, trial):
        """Up to and with the step, the last so many."""
        tensor = trial.tensor("fc.weight")

        assert ([5, 10], [0, 5], [0, 5, 10], []) == (
            tensor.prev_steps(10, 2),
            tensor.prev_steps(7, n=9),
            tensor.prev_steps(10),
            tensor.prev_steps(-1, 3),
        )

    def test_inputs_in_order(self, tmp_path):
        """By number, at a step of a mode."""
        inputs = {f"inputs_{number}": float(number) for number in (0, 2, 10)}
        run = Written(tmp_path, collections=[SavedCollection("inputs", ("^inputs",))])
        run.step(0, {"w": A})
        run.step(1, inputs, mode=Mode.EVAL, mode_step=0)
        run.end()

        assert [0, 2, 10] == create_trial(run.url).inputs(0, modes.EVAL)

    @pytest.mark.parametrize("which", ["labels", "predictions"])
    def test_labels_and_predictions(self, tmp_path, which):
        """By name and number."""
        trial = create_trial(finished(tmp_path, {0: {f"{which}_1": 1.0, f"{which}_0": 0.0}}))

        assert [0, 1] == getattr(trial, which)(0)


class TestReductions:
    @pytest.mark.parametrize(
        ("name", "of_abs", "expected"),
        [
            ("min", False, -2),
            ("max", True, 4),
            ("mean", False, 1.5),
            ("mean", True, 2.5),
            ("sum", False, 6),
            ("prod", False, -24),
            ("median", False, 1),
            ("l1", False, 10),
            ("l2", False, np.sqrt(30)),
        ],
    )
    def test_of_a_value(self, trial, name, of_abs, expected):
        """Those that the guide names, and the median that it promised."""
        found = trial.tensor("fc.weight").reduction_value(5, name, abs=of_abs)

        assert expected == pytest.approx(float(found), rel=1e-6)

    def test_norms_are_over_all_elements(self, trial):
        """As the saved ones are; smdebug computes the norm of a matrix here, 4."""
        assert 5 == trial.tensor("gradient/fc.weight").reduction_value(0, "l2")

    def test_spread_of_a_value_is_of_its_elements(self, tmp_path):
        """Divided by their number, as NumPy does and smdebug did."""
        url = finished(tmp_path, {0: {"w": A}}, stored=Stored(raw=True))

        assert pytest.approx(np.std(A)) == create_trial(url).tensor("w").reduction_value(0, "std")

    def test_one_that_was_saved(self, tmp_path):
        """It is taken as it was saved: the spread of a sample."""
        stored = Stored(reductions=(Reduction("std"),))
        tensor = create_trial(finished(tmp_path, {0: {"w": A}}, stored=stored)).tensor("w")

        assert (pytest.approx(np.std(A, ddof=1)), {("std", False)}) == (
            tensor.reduction_value(0, "std"),
            set(tensor.reduction_values(0)),
        )

    def test_one_that_was_not_saved(self, tmp_path):
        """It is named, and so is that others were."""
        stored = Stored(reductions=(Reduction("std"),))
        tensor = create_trial(finished(tmp_path, {0: {"w": A}}, stored=stored)).tensor("w")
        with pytest.raises(TensorUnavailableForStep) as of_reduction:
            tensor.reduction_value(0, "max")
        with pytest.raises(TensorUnavailableForStep) as of_value:
            tensor.value(0)

        assert ("max", True) == (of_reduction.value.tname, of_value.value.has_reductions)

    def test_one_that_does_not_exist(self, trial):
        """The error names it."""
        with pytest.raises(SMDebugValueError, match="no reduction 'mode'"):
            trial.tensor("fc.weight").reduction_value(0, "mode")

    def test_of_statistics(self, tmp_path):
        """A run of ours needs no raw values, and gives those of the other format."""
        of = {}
        for format in FORMATS:
            stored = None if format == "native" else Stored(reductions=(Reduction("variance"),))
            url = finished(tmp_path / format, {0: {"w": A}}, format=format, stored=stored)
            of[format] = create_trial(url).tensor("w").reduction_value(0, "variance")

        assert float(of["smdebug"]) == pytest.approx(float(of["native"]))

    def test_of_nothing(self):
        """An empty array has a sum and no mean."""
        tensor = create_trial(str(golden_run("dtypes"))).tensor("empty")

        assert (0, True) == (
            tensor.reduction_value(0, "sum"),
            np.isnan(tensor.reduction_value(0, "mean")),
        )


class TestShapes:
    def test_of_a_value(self, trial):
        """At a step, and at all."""
        tensor = trial.tensor("fc.weight")

        assert ((2, 2), dict.fromkeys((0, 5, 10), (2, 2))) == (tensor.shape(5), tensor.shapes())

    def test_saved_by_itself(self, tmp_path):
        """There is no value then."""
        url = finished(tmp_path, {0: {"w": A}}, stored=Stored(shape=True))
        tensor = create_trial(url).tensor("w")
        with pytest.raises(TensorUnavailableForStep):
            tensor.value(0)

        assert (2, 2) == tensor.shape(0)

    def test_where_only_reductions_were_saved(self, tmp_path):
        """It does not follow."""
        stored = Stored(reductions=(Reduction("std"),))
        trial = create_trial(finished(tmp_path, {0: {"w": A}}, stored=stored))

        with pytest.raises(ShapeUnavailableForStep):
            trial.tensor("w").shape(0)


class TestTensorAtAStep:
    def test_stands_for_an_array(self, trial):
        """Shape, dtype, values, and wherever NumPy takes an array."""
        at = trial.tensor("fc.weight", step=5, node="worker_0")

        assert ((2, 2), np.float32, A.tolist(), 6.0, 2, [1.0, -2.0], 2) == (
            at.shape,
            at.dtype,
            at.numpy().tolist(),
            np.sum(at),
            at.ndim,
            at[0].tolist(),
            len(at),
        )

    def test_of_one_element_is_a_number(self, trial):
        """As arrays are."""
        assert 0.5 == float(trial.tensor("loss/l", step=5))

    def test_of_a_tensor(self, trial):
        """``step``, which once was the way to a value."""
        at = trial.tensor("fc.weight").step(5)

        assert (A.tolist(), 1.5) == (at.value.tolist(), at.reduction_value("mean"))

    def test_at_a_step_that_was_not_saved(self, trial):
        """A loop over single steps catches this."""
        with pytest.raises(NoMoreData):
            trial.tensor("fc.weight", step=3, node="worker_0")

    @pytest.mark.parametrize("what", ["dtype", "shape"])
    def test_without_a_value(self, tmp_path, what):
        """The same loop catches this too."""
        stored = Stored(reductions=(Reduction("std"),))
        at = create_trial(finished(tmp_path, {0: {"w": A}}, stored=stored)).tensor("w", step=0)

        with pytest.raises(NoMoreData, match="its reductions were"):
            getattr(at, what)
