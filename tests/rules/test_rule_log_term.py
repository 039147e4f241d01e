"""What is part of a loss by itself and in an exponential, which have to hold each other."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepwatch.hooks.torch.collectors.log_terms import log_terms
from stepwatch.rules import Finding
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")

RULE = "loss_direction"


def flow(model, x, sign):
    """The negative log-likelihood of a coupling layer, by its log-determinant or its opposite."""
    scale, shift = model(x[:, :4]).tanh().chunk(2, dim=1)
    z = torch.cat([x[:, :4], (x[:, 4:] - shift) * torch.exp(-scale)], dim=1)
    return (0.5 * z**2).sum(1).mean() - sign * (-scale).sum(1).mean()


def divergence(model, x, sign):
    """That of a VAE, beside little noise."""
    mean, log_var = model(x[:, :4]).chunk(2, dim=1)
    z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
    kld = -0.5 * torch.sum(1 + sign * log_var - mean**2 - log_var.exp())
    return ((z - x[:, 4:]) ** 2).mean() + 1e-3 * kld


def heteroscedastic(model, x, sign):
    mean, log_std = model(x[:, :4]).chunk(2, dim=1)
    std = log_std.exp()
    return (0.5 * ((x[:, 4:] - mean) / std) ** 2 + sign * torch.log(std)).mean()


def contrast(model, x, sign):
    """Of each sample and all, by exponentials that are written out."""
    made = nn.functional.normalize(model(x[:, :4]), dim=1)
    similar = made @ made.roll(1, 0).T / 0.5
    return (similar.exp().sum(1).log() - sign * similar.diagonal()).mean()


def likelihood(model, x, sign):
    """Of actions, by advantages of both signs: which way it is pulled changes."""
    mean, log_std = model(x[:, :4]).chunk(2, dim=1)
    log_prob = -0.5 * ((x[:, 4:] - mean) / log_std.exp()) ** 2 - sign * log_std
    return -(torch.randn(len(x), 1) * log_prob).mean()


def trains(made, sign, steps=12):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        made(model, torch.randn(32, 8), sign).backward()
        optimizer.step()


def found_by(program, tmp_path):
    found, statuses = judge(program, RULE, tmp_path / "run")
    assert_live_is_replay(tmp_path / "run", RULE, found, statuses)
    return [one for one in map(Finding.from_json, found) if one.condition == "log_term"]


@pytest.mark.parametrize("made", [flow, divergence, heteroscedastic])
def test_a_logarithm_with_the_wrong_sign_is_named(made, tmp_path):
    (found,) = found_by(lambda: trains(made, -1), tmp_path)

    assert "what 2 makes is part of it by itself and in an exponential" in found.message
    assert 5 == found.mode_step


@pytest.mark.parametrize("made", [flow, divergence, heteroscedastic, contrast])
def test_one_with_the_right_sign_is_not(made, tmp_path):
    assert not found_by(lambda: trains(made, 1), tmp_path)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_multiplied_by_numbers_of_both_signs_is_let_be(sign, tmp_path):
    assert not found_by(lambda: trains(likelihood, sign), tmp_path)


def test_similarities_of_pairs_are_such_terms():
    """Where their sign is wrong, too: pairs are pushed apart."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    for sign in (1, -1):
        (term,) = log_terms(contrast(model, torch.randn(32, 8), sign), {})
        assert (-sign, [1]) == (term.sign, [power for _, power in term.powers])
