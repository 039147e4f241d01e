"""A budget: most steps of a training are observed by their losses only."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepwatch.capture import budget
from tests.support.hooks.torch.trainings import X, fit, mlp, sgd


@pytest.fixture
def every_fifth(watched, monkeypatch):
    """Return a function that hooks torch and observes every fifth step in full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watch(**options):
        seen = watched(budget=0.03, **options)
        seen.hook.recorder.budget.period = 5
        return seen

    return watch


def steps_of(seen, name):
    return seen.trial.tensor(name).steps("TRAIN")


class TestThinSteps:
    def test_every_loss_is_stored_and_all_else_of_full_steps(self, every_fifth):
        with every_fifth() as seen:
            losses = fit(mlp(), steps=12)

        assert losses == seen.series("loss/mse_loss")
        for name in ("0.weight", "gradient/0.weight", "output/0", "loop/backwards", "batch/0"):
            assert [0, 1, 5, 10] == steps_of(seen, name), name

    def test_the_training_is_the_one_it_would_have_been(self, every_fifth):
        """Losses and parameters are the same bit for bit."""
        plain, observed = mlp(), mlp()
        losses = fit(plain, steps=12)
        with every_fifth():
            assert losses == fit(observed, steps=12)
        for one, other in zip(plain.parameters(), observed.parameters(), strict=True):
            assert torch.equal(one, other)

    def test_a_full_step_has_the_time_of_that_step_alone(self, every_fifth):
        with every_fifth() as seen:
            fit(mlp(), steps=12)

        times = seen.series("loop/step_seconds")
        assert [1, 5, 10] == steps_of(seen, "loop/step_seconds")
        assert all(0 < one for one in times)

    def test_requested_collections_are_saved_in_every_step(self, every_fifth):
        with every_fifth(policy=["gradients"]) as seen:
            fit(mlp(), steps=8)

        assert [*range(8)] == steps_of(seen, "gradient/0.weight")
        assert [0, 1, 5] == steps_of(seen, "0.weight")

    def test_what_the_script_saves_is_in_every_step(self, every_fifth):
        with every_fifth() as seen:
            fit(mlp(), steps=8, each=lambda step: seen.hook.save_scalar("mine", step))

        assert [*range(8)] == steps_of(seen, "scalar/mine")

    def test_evaluations_are_thinned_as_well(self, every_fifth):
        with every_fifth() as seen:
            model = mlp()
            fit(model, steps=3)
            model.eval()
            with torch.no_grad():
                for _ in range(11):
                    model(X)

        assert 4 == len(seen.trial.tensor("output/0").steps("EVAL"))  # 0, 1, 5 and 10 of EVAL

    def test_after_a_loss_that_is_not_finite_steps_are_observed_in_full(self, every_fifth):
        """Weights are nan after step 7, and so is the loss of step 8."""

        def spoil(x, y):
            calls.append(1)
            return nn.functional.mse_loss(x, y) * (float("nan") if len(calls) == 8 else 1)

        calls = []
        with every_fifth() as seen:
            fit(mlp(), steps=12, loss=spoil)

        assert [0, 1, 5, 9, 10, 11] == steps_of(seen, "gradient/0.weight")

    def test_snapshots_are_kept_when_they_are_due(self, every_fifth):
        with every_fifth(snapshot_every=3) as seen:
            fit(mlp(), steps=8)

        assert [0, 1, 3, 5, 6] == steps_of(seen, "0.weight")

    def test_stale_gradients_are_no_longer_counted_over_a_gap(self, every_fifth):
        """A script that does zero its gradients is not said to forget it."""
        with every_fifth() as seen:
            fit(mlp(), steps=12)

        assert {0.0} == set(seen.series("optimizer/stale_gradients"))

    def test_two_optimizers_share_the_steps(self, every_fifth):
        with every_fifth() as seen:
            first, second = mlp(), mlp()
            one, other = sgd(first), sgd(second)
            for _ in range(8):
                for model, optimizer in ((first, one), (second, other)):
                    optimizer.zero_grad()
                    model(X).square().mean().backward()
                    optimizer.step()

        assert {"TRAIN": 8} == seen.counts
        assert [0, 1, 5] == steps_of(seen, "gradient/0.weight")


def test_what_observing_took_is_in_the_note_at_the_end(watched):
    with watched(budget=0.5) as seen:
        fit(mlp(), steps=30)

    assert seen.end.cost > 0
