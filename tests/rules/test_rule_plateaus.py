"""Losses that nothing explains and that do not fall: some do later."""

from __future__ import annotations

import json

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

_WAITS = "mode=TRAIN,num_steps=100,smooth=25,converged_ratio=0.9,plain_only=true"
RULES = [f"loss_not_decreasing:{_WAITS}", "chance_level"]


def learns(late, steps):
    """Train a classifier whose labels are of other samples until a step."""
    torch.manual_seed(0)
    x = torch.randn(4096, 8)
    y = (x[:, :4] + 0.1 * torch.randn(4096, 4)).argmax(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for at in range(steps):
        rows = torch.randint(4096, (512,))
        labels = y[rows] if at >= late else y[torch.randint(4096, (512,))]
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), labels).backward()
        optimizer.step()


@pytest.mark.parametrize(
    ("late", "steps", "found"),
    [
        (500, 900, set()),
        (900, 900, {"loss_not_decreasing", "chance_level"}),
        (500, 500, {"loss_not_decreasing", "chance_level"}),
    ],
    ids=["falls late", "never falls", "is ended before"],
)
def test_a_loss_that_falls_late_is_none_that_does_not(late, steps, found, tmp_path):
    findings, statuses = judge(lambda: learns(late, steps), RULES, tmp_path / "run")

    parsed = [json.loads(one) for one in findings]
    assert found == {one["rule"] for one in parsed if one["severity"] != "info"}
    assert_live_is_replay(tmp_path / "run", RULES, findings, statuses)


def test_a_plateau_below_what_guessing_costs_is_information(tmp_path):
    """Of labels that are mostly noise no more can be learned."""

    def learns_a_little():
        torch.manual_seed(0)
        x = torch.randn(16384, 4)
        y = torch.multinomial((0.4 * x[:, :3]).softmax(1), 1)[:, 0]
        model = nn.Linear(4, 3)
        nn.init.zeros_(model.weight)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(800):
            rows = torch.randint(16384, (2048,))
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()

    findings, statuses = judge(learns_a_little, RULES, tmp_path / "run")

    found = [json.loads(one) for one in findings]
    assert {("loss_not_decreasing", "settled", "info")} == {
        (one["rule"], one["condition"], one["severity"]) for one in found
    }
    assert_live_is_replay(tmp_path / "run", RULES, findings, statuses)
