"""Codes of a table that a running average makes, as a VQ-VAE has them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from stepwatch.rules import Finding
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")


class Quantizer(nn.Module):
    """Takes the nearest code of a table whose parameter is another one after each step.

    Args:
        learns: Whether codes are an average, or left as they are.
    """

    def __init__(self, learns):
        super().__init__()
        self.table, self.learns = nn.Embedding(16, 4), learns
        self.sums = nn.Parameter(torch.randn(16, 4))

    def forward(self, z):
        chosen = torch.cdist(z, self.table.weight.detach()).argmin(1)
        hits = nn.functional.one_hot(chosen, 16).float()
        codes = self.table(chosen).detach()
        if self.training and self.learns:
            self.sums = nn.Parameter(0.9 * self.sums.data + 0.1 * (hits.T @ z.detach() * 20))
            self.table.weight = nn.Parameter(self.sums.data / 1.05)
        return z + (codes - z).detach(), mse_loss(codes, z)


def quantizes(learns, steps=40):
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    model = nn.ModuleDict(
        {"encoder": encoder, "codes": Quantizer(learns), "decoder": nn.Linear(4, 8)}
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x = torch.randn(32, 8)
        z, commitment = model["codes"](model["encoder"](x))
        loss = mse_loss(model["decoder"](z), x) + 0.25 * commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def found_by(rule, program, tmp_path):
    found, statuses = judge(program, rule, tmp_path / "run")
    assert_live_is_replay(tmp_path / "run", rule, found, statuses)
    return [Finding.from_json(one) for one in found]


def test_parameters_that_are_made_anew_at_each_step_are_let_be(tmp_path):
    """The optimizer holds those that were there first, which belong to no model any more."""
    assert not found_by("untrained_parameter", lambda: quantizes(True), tmp_path)


def test_parameters_without_gradient_that_never_change_are_found(tmp_path):
    (found,) = found_by("untrained_parameter", lambda: quantizes(False), tmp_path)

    assert "no_gradient" == found.condition


def follows(is_given, steps=320):
    """Learn to follow a constant that goes away faster."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(steps):
        made, constant = model(torch.randn(32, 8)), torch.full((32, 4), step / 20.0)
        optimizer.zero_grad()
        (mse_loss(constant, made) if is_given else mse_loss(made, constant)).backward()
        optimizer.step()


@pytest.mark.slow
@pytest.mark.parametrize("is_given", [False, True])
def test_a_loss_that_pulls_what_a_model_makes_to_a_constant_may_rise(is_given, tmp_path):
    """So it is where that is given in the place of a prediction, as a commitment loss has it."""
    for rule in ("loss_not_decreasing:plain_only=true", "chance_level"):
        found = found_by(rule, lambda: follows(is_given), tmp_path / rule.partition(":")[0])

        assert (not is_given) == bool(found)
