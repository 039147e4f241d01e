"""A trial answers for runs of the real smdebug what smdebug's own trial answers."""

from __future__ import annotations

import numpy as np
import pytest

from smdebug import modes
from smdebug.trials import create_trial
from tests.support.compat.debugger_runs import GOLDEN_RUNS, described, golden_answers, golden_run

#: What smdebug cannot read back from its own file ``dtypes``: here ours is right, and that is
#: asserted instead.
SMDEBUG_IS_WRONG = {
    "i8": np.int8([-1]),  # it says uint8, 255
    "i16": np.int16([-1]),  # the rest raises
    "u16": np.uint16([65535]),
    "u32": np.uint32([1]),
    "u64": np.uint64([1]),
    "c64": np.complex64([1 + 2j]),
    "empty": np.zeros((0, 3), np.float32),
}


@pytest.fixture(scope="module", params=GOLDEN_RUNS)
def run(request):
    """One run: the answers for it, and our trial."""
    return golden_answers()[request.param], create_trial(str(golden_run(request.param)))


@pytest.fixture(scope="module")
def tensors(run):
    """Name, answers and our tensor, of all tensors that smdebug can read."""
    answers, trial = run
    return [
        (name, expected, trial.tensor(name))
        for name, expected in answers["tensors"].items()
        if name not in SMDEBUG_IS_WRONG
    ]


def told(answer):
    """Return an answer about a value so that nan equals nan; the hash is over all bytes."""
    return {**answer, "value": str(answer["value"])} if "value" in answer else answer


def by_mode(ask):
    """Return an answer for every mode, by its name."""
    return {mode.name: ask(mode) for mode in modes}


class TestGoldenTrial:
    def test_steps(self, run):
        """Complete and incomplete steps, over all modes and within each."""
        answers, trial = run

        assert (answers["steps"], answers["steps_incomplete"], answers["mode_steps"]) == (
            trial.steps(),
            trial.steps(show_incomplete_steps=True),
            by_mode(trial.steps),
        )

    def test_modes(self, run):
        """Which modes there are, and of which each step is."""
        answers, trial = run
        found = {
            str(step): [trial.mode(step).name, trial.mode_step(step)] for step in trial.steps()
        }

        assert (answers["modes"], answers["mode_modestep"]) == (
            sorted(mode.name for mode in trial.modes()),
            found,
        )

    def test_has_passed_step(self, run):
        """Steps are there, are not and never will be, or may come."""
        answers, trial = run
        expected = answers["has_passed_step"]

        assert expected == {step: trial.has_passed_step(int(step)).name for step in expected}

    def test_workers_and_completeness(self, run):
        """Who writes, how many, up to where all did, and whether that is all."""
        answers, trial = run
        names = ("num_workers", "loaded_all_steps", "last_complete_step")

        assert (answers["workers"], *(answers[name] for name in names)) == (
            trial.workers(),
            *(getattr(trial, name) for name in names),
        )

    def test_collections(self, run):
        """The collections file, as it was exported."""
        answers, trial = run
        found = {name: one.to_json_dict() for name, one in trial.collections().items()}

        assert answers["collections"] == found

    def test_tensor_names(self, run):
        """All names, and those of each collection."""
        answers, trial = run
        of_collections = answers["collection_tensors"]

        assert (answers["tensor_names"], of_collections) == (
            trial.tensor_names(),
            {name: trial.tensor_names(collection=name) for name in of_collections},
        )


class TestGoldenTensors:
    def test_steps(self, tensors):
        """Of each tensor, over all modes and within each."""
        expected = {name: (one["steps"], one["mode_steps"]) for name, one, _ in tensors}

        assert expected == {
            name: (tensor.steps(), by_mode(tensor.steps)) for name, _, tensor in tensors
        }

    def test_original_names(self, tensors):
        """What the framework calls each."""
        expected = {name: one["original_name"] for name, one, _ in tensors}

        assert expected == {name: tensor.original_name for name, _, tensor in tensors}

    def test_values(self, tensors):
        """Dtype, shape and bytes of every value of every worker, or what raises instead."""
        expected = {
            (name, step): {worker: told(value) for worker, value in at["value"].items()}
            for name, one, _ in tensors
            for step, at in one["at"].items()
        }

        def answer(tensor, step, worker):
            try:
                return told(described(tensor.value(step, worker=worker)))
            except LookupError as error:
                return {"error": type(error).__name__}

        assert expected == {
            (name, step): {
                worker: answer(tensor, int(step), worker) for worker in tensor.workers(int(step))
            }
            for name, one, tensor in tensors
            for step in one["at"]
        }

    def test_shapes(self, tensors):
        """The shape of every tensor at every step."""
        expected = {
            (name, step): at["shape"] for name, one, _ in tensors for step, at in one["at"].items()
        }

        assert expected == {
            (name, step): list(tensor.shape(int(step)))
            for name, one, tensor in tensors
            for step in one["at"]
        }

    def test_reductions(self, tensors):
        """Every reduction that was saved."""
        expected = {
            (name, step): at["reductions"]
            for name, one, _ in tensors
            for step, at in one["at"].items()
        }

        assert expected == {
            (name, step): {
                f"{'abs_' if of_abs else ''}{reduction}": described(value)
                for (reduction, of_abs), value in tensor.reduction_values(int(step)).items()
            }
            for name, one, tensor in tensors
            for step in one["at"]
        }

    @pytest.mark.parametrize("name", SMDEBUG_IS_WRONG)
    def test_what_smdebug_cannot_read(self, name):
        """A value comes back as it was written, also where smdebug's own reader fails."""
        trial = create_trial(str(golden_run("dtypes")))

        assert described(SMDEBUG_IS_WRONG[name]) == described(trial.tensor(name).value(0))
