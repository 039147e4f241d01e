"""Regressions that learn their targets by heart, and others of which there is little to learn."""

from __future__ import annotations

import json
from functools import partial

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.rule_runs import judge

pytestmark = pytest.mark.usefixtures("one_thread")


def fits(*, signal, epochs=10, is_shuffled=False, decay=0.0):
    """Fit a small network to targets of variance 1, and evaluate it after each epoch.

    Args:
        signal: Which part of the variance the inputs explain.
        is_shuffled: Whether the targets of training are those of other samples.
    """
    torch.manual_seed(0)
    x = torch.randn(4000, 10)
    y = signal**0.5 * x[:, :1] + (1 - signal) ** 0.5 * torch.randn(4000, 1)
    train, val = (x[:3000], y[:3000]), (x[3000:], y[3000:])
    if is_shuffled:
        train = x[:3000], y[:3000][torch.randperm(3000)]
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=decay)
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(3000).split(100):
            loss = F.mse_loss(model(train[0][rows]), train[1][rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            F.mse_loss(model(val[0]), val[1])


def conditions(program, run):
    found, _ = judge(program, "overfit", run)
    return [json.loads(one)["condition"] for one in found]


def test_targets_of_other_samples_are_learnt_by_heart(tmp_path):
    found = conditions(partial(fits, signal=0.5, is_shuffled=True), tmp_path / "run")

    assert "loss/mse_loss guessing" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        partial(fits, signal=0.5),
        partial(fits, signal=0.1),
        partial(fits, signal=0.03, decay=3.0),
    ],
    ids=["half of it", "a tenth", "next to nothing"],
)
def test_targets_of_which_little_is_known_may_be_noisy(program, tmp_path):
    assert "loss/mse_loss guessing" not in conditions(program, tmp_path / "run")
