"""Digests and histograms of exponents of a run, as a view and as a rule see them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from stepwatch.errors import StepUnavailable, TensorUnavailable
from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.judge.step_view import StepView
from stepwatch.model.steps import Mode
from stepwatch.numerics.digest import digest
from stepwatch.numerics.exponents import count_exponents
from stepwatch.store.memory import MemoryStore
from stepwatch.testing.made_runs import make_record, make_run
from stepwatch.trial import Trial

_numbers = itertools.count()


def value_of(worker: int, step: int) -> np.ndarray:
    """Return the value that the weight has at a step."""
    return np.random.default_rng(10 * worker + step).normal(size=(3, 2)).astype(np.float32)


def record_of(worker: int, step: int):
    """Return a step; worker 0 notes digests and exponents at even steps, worker 1 always."""
    value = value_of(worker, step)
    record = make_record(
        step,
        {"fc.weight": value, "other.weight": value},
        mode=Mode.EVAL if step % 3 == 2 else Mode.TRAIN,
        mode_step=step // 3 if step % 3 == 2 else step - (step + 1) // 3,
        worker=f"worker_{worker}",
    )
    if worker == 0 and step % 2:
        return record
    noted = {"fc.weight": digest(value)}, {"fc.weight": count_exponents(value)}
    return replace(record, digests=noted[0], exponents=noted[1])


@pytest.fixture(scope="module")
def trial():
    """Six steps of two workers, every third of mode EVAL."""
    store = MemoryStore(f"digests-{next(_numbers)}")
    start_run(store, Manifest("run", 0, num_workers=2))
    for worker in (0, 1):
        writer = NativeWriter(store, f"worker_{worker}")
        for step in range(6):
            writer.write(record_of(worker, step))
            if step == 3:
                writer.flush()
        writer.flush()
    return Trial(store)


class TestDigest:
    def test_it_is_of_the_value_at_the_step(self, trial):
        """Of the worker that is asked for."""
        found = trial.tensor("fc.weight").digest(3, worker="worker_1")
        assert digest(value_of(1, 3)) == found

    def test_without_a_worker_the_first_that_has_one_is_taken(self, trial):
        """Step by step."""
        found = trial.tensor("fc.weight").digests()
        assert {step: digest(value_of(step % 2, step)) for step in range(6)} == found

    def test_steps_are_counted_as_the_mode_counts_them(self, trial):
        """The second of EVAL is the sixth of all."""
        tensor = trial.tensor("fc.weight")
        assert digest(value_of(1, 5)) == tensor.digest(1, mode="EVAL")
        assert [0, 1] == list(tensor.digests(mode="EVAL"))

    def test_only_those_of_a_worker_are_shown_if_asked(self, trial):
        """Worker 0 noted every other one."""
        assert [0, 2, 4] == list(trial.tensor("fc.weight").digests(worker="worker_0"))

    def test_what_was_not_saved_is_said_with_the_way_to_it(self, trial):
        """The message names the option."""
        with pytest.raises(
            TensorUnavailable, match=r"no digest at step 1.*--save 'weights:digest'"
        ):
            trial.tensor("other.weight").digest(1)

    def test_a_step_that_is_not_there_is_another_matter(self, trial):
        """The message names the nearest."""
        with pytest.raises(StepUnavailable, match="not observed at step 9; the nearest is 5"):
            trial.tensor("fc.weight").digest(9)


class TestExponents:
    def test_they_are_of_the_value_at_the_step(self, trial):
        """Whole numbers, a bin each."""
        found = trial.tensor("fc.weight").exponents(2)
        assert (np.int64, count_exponents(value_of(0, 2)).tolist()) == (found.dtype, found.tolist())

    def test_what_was_not_saved_is_said_with_the_way_to_it(self, trial):
        """The message names the option."""
        with pytest.raises(TensorUnavailable, match=r"no histogram of exponents at.*:exponents'"):
            trial.tensor("fc.weight").exponents(1, worker="worker_0")


class TestOtherFormats:
    def test_a_run_of_smdebug_has_neither(self):
        """It says so, as for what was not saved."""
        run = make_run(f"memory://digests-{next(_numbers)}", steps=2, format="smdebug")
        tensor = Trial(run).tensor("layer0.weight")
        assert {} == tensor.digests()
        with pytest.raises(TensorUnavailable, match="no histogram of exponents"):
            tensor.exponents(0)


class TestTensorView:
    def test_rules_see_the_same_live_and_in_replay(self, trial):
        """None where it was not saved."""
        for step, records in enumerate(trial.records()):
            live = [record_of(worker, step) for worker in (0, 1)]
            for view, other in zip(
                StepView(records).tensors(), StepView(live).tensors(), strict=True
            ):
                assert other.digest == view.digest
                assert (other.exponents is None) == (view.exponents is None)
                if view.exponents is not None:
                    assert other.exponents.tolist() == view.exponents.tolist()
