"""Trainings that go on from a checkpoint, and not with all that was in it."""

from __future__ import annotations

import copy
import json
from functools import partial

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from stepwatch import LiveWatch, TorchHook, Trial
from stepwatch.formats.saved_weights import all_saved
from stepwatch.rules import Finding
from tests.support.rules.resume_programs import (
    SCENARIOS,
    Net,
    adam,
    best_at_the_end,
    stages,
    train,
)
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if one.must_fire])
def test_what_is_not_gone_on_from_is_found(name, tmp_path):
    scenario = SCENARIOS[name]
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    assert {name.partition(":")[0]} == {Finding.from_json(one).evidence["cause"] for one in found}
    assert_live_is_replay(tmp_path / "run", scenario.rule, found, statuses)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if not one.must_fire])
def test_what_is_done_right_is_not_accused(name, tmp_path):
    scenario = SCENARIOS[name]
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    assert [] == [Finding.from_json(one).message for one in found]
    assert ["NoIssuesFound"] == [one.status for one in statuses]


def test_weights_that_are_loaded_in_the_end_are_no_resume(tmp_path):
    """Nothing is trained after them, so nothing is judged."""
    found, statuses = judge(best_at_the_end, "resume", tmp_path / "run")

    assert ([], ["NotEvaluated"]) == (found, [one.status for one in statuses])


def test_a_schedule_that_may_be_of_another_stage_is_of_no_weight(tmp_path):
    """None was saved, so none was to go on."""
    (found,), _ = judge(stages, "resume", tmp_path / "run")

    one = Finding.from_json(found)
    assert ("schedule", "info") == (one.condition, one.severity)


def keeps(copied):
    """Train a model, and load what was kept of it in the middle."""
    model = Net()
    optimizer = adam(model)
    train(model, optimizer)
    kept = copied(model.state_dict())
    train(model, optimizer)
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        model(torch.randn(4, 12))


def syncs(*, from_target=False, anew=False):
    """Train a model and copy it, or to it, a few times."""
    model, target = Net(), Net()
    optimizer = adam(model)
    for _ in range(6):
        train(model, optimizer)
        given, other = (model, target) if from_target else (target, model)
        given.load_state_dict(other.state_dict())
        optimizer = adam(model) if anew else optimizer
    train(model, optimizer)


class TestGivenWhileItTrains:
    def conditions(self, program, run):
        found, _ = judge(program, "resume", run)
        return [Finding.from_json(one).condition for one in found]

    def test_a_state_dict_that_is_no_copy_restores_nothing(self, tmp_path):
        """It holds the parameters themselves."""
        assert ["live Net"] == self.conditions(partial(keeps, dict), tmp_path / "run")

    def test_a_copy_restores_what_was_kept(self, tmp_path):
        assert [] == self.conditions(partial(keeps, copy.deepcopy), tmp_path / "run")

    def test_a_target_network_that_is_copied_the_wrong_way(self, tmp_path):
        program = partial(syncs, from_target=True)
        assert ["again Net"] == self.conditions(program, tmp_path / "run")

    @pytest.mark.parametrize("settings", [{}, {"from_target": True, "anew": True}])
    def test_the_right_way_and_who_begins_anew(self, settings, tmp_path):
        """As the folds of a cross-validation, each with an optimizer of its own."""
        assert [] == self.conditions(partial(syncs, **settings), tmp_path / "run")


class Trains:
    """A script that trains some batches, saves, and may go on from what was saved."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, name, *, resumes="", steps=6, seed=0, with_optimizer=True):
        """Train as a run of this name, and return the conditions of what was found."""
        live = LiveWatch("resume")
        hook = TorchHook(
            run=self.folder / name,
            listeners=[live],
            command=["train.py"],
            say=lambda line: None,
            strict=True,
        )
        with hook:
            self._train(resumes, steps, seed, with_optimizer)
        return {one.condition: one for one in live.findings}

    def _train(self, resumes, steps, seed, with_optimizer):
        torch.manual_seed(0)
        model = Net()
        optimizer = adam(model)
        if resumes:
            kept = torch.load(self.folder / resumes)
            model.load_state_dict(kept["model"])
            if with_optimizer:
                optimizer.load_state_dict(kept["optimizer"])
        generator = torch.Generator().manual_seed(0)
        x, y = torch.randn(80, 12, generator=generator), torch.arange(80) % 5
        order = torch.Generator().manual_seed(seed)
        loader = DataLoader(TensorDataset(x, y), 8, shuffle=True, generator=order)
        for step, (inputs, targets) in enumerate(loader):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            if step + 1 == steps:
                kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(kept, self.folder / "kept.pt")
                break


class TestRunsOfOneFolder:
    def test_a_run_knows_what_it_saved(self, tmp_path):
        """After how many steps, where to, and with which digests."""
        Trains(tmp_path).run("first")
        (saved,) = all_saved(Trial(tmp_path / "first").store)

        assert (6, "model", "kept.pt") == (
            saved.num_steps,
            saved.part,
            saved.file.rpartition("/")[2],
        )
        assert set(Net().state_dict()) == set(saved.tensors)
        assert ((0.01,), True) == (saved.rates, saved.is_mid_epoch)

    def test_an_optimizer_that_was_left_out_is_a_warning(self, tmp_path):
        """The same script wrote the weights, so it was to go on."""
        trains = Trains(tmp_path)
        trains.run("first")
        found = trains.run("second", resumes="kept.pt", seed=7, with_optimizer=False)

        assert ["fresh_optimizer"] == list(found)
        assert "warning" == found["fresh_optimizer"].severity
        assert "after 6 TRAIN steps of first" in found["fresh_optimizer"].message

    def test_batches_that_come_again_are_found(self, tmp_path):
        """The first run was in the middle of its epoch."""
        trains = Trains(tmp_path)
        trains.run("first")

        assert ["data_replayed"] == list(trains.run("second", resumes="kept.pt"))

    def test_other_batches_are_not_accused(self, tmp_path):
        """Nor is another epoch that begins as the first did, where the first was over."""
        trains = Trains(tmp_path)
        trains.run("first")
        assert {} == trains.run("second", resumes="kept.pt", seed=7)

        trains.run("whole", steps=10)
        assert {} == trains.run("third", resumes="kept.pt")


def test_what_is_observed_is_one_document(tmp_path):
    """It is stored with the first step after loading, and with no other."""
    judge(SCENARIOS["done right"].program, "resume", tmp_path / "run")
    tensor = Trial(tmp_path / "run").tensor("checkpoint/loaded")
    (value,) = tensor.values().values()

    document = json.loads(bytes(value))
    assert ["Net"] == [one["class"] for one in document["weights"]]
    assert [True] == [one["loaded"] for one in document["optimizers"]]
