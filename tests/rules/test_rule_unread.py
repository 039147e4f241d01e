"""Parameters that a script leaves out: tables, targets, steps of a sequence that it never reads."""

from __future__ import annotations

import copy
import json

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.rule_runs import judge

pytestmark = pytest.mark.usefixtures("one_thread")


def findings_of(program, rule, run):
    """Return severity and message of what a rule finds in a program."""
    found = [json.loads(one) for one in judge(program, rule, run)[0]]
    return [(one["severity"], one["message"]) for one in found]


class Reader(nn.Module):
    def __init__(self, at, *, both=False):
        super().__init__()
        self.at = at
        self.lstm = nn.LSTM(4, 8, batch_first=True, bidirectional=both)
        self.last = nn.Linear(8 * (1 + both), 2)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, self.at])


@pytest.mark.parametrize(
    ("at", "both", "severity", "what"),
    [(0, False, "warning", "only the first step"), (-1, True, "info", "only the last step"),
     (-1, False, None, "")],
    ids=["first step", "last step of both directions", "last step"],
)  # fmt: skip
def test_a_recurrent_layer_of_which_one_step_is_read_is_found(at, both, severity, what, tmp_path):
    """People take ``out[:, -1]`` of both directions, and the other one makes up for it."""

    def reads():
        torch.manual_seed(0)
        model = Reader(at, both=both)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(14):
            x = torch.randn(8, 6, 4)
            optimizer.zero_grad()
            F.cross_entropy(model(x), (x[:, 2, 0] > 0).long()).backward()
            optimizer.step()

    found = findings_of(reads, "vanishing_gradient", tmp_path / "run")
    assert [severity] * bool(severity) == [one for one, _ in found]
    assert all(what in message for _, message in found)


@pytest.mark.parametrize("is_copy", [True, False], ids=["a copy", "another model"])
def test_a_network_that_targets_are_computed_of_is_let_be(is_copy, tmp_path):
    """It runs with a graph, which is cut off behind it; of another shape it may be forgotten."""

    def learns():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        other = copy.deepcopy(model) if is_copy else nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 2))
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(14):
            target = 0.9 * other(torch.randn(8, 4)).detach() + 1
            optimizer.zero_grad()
            F.mse_loss(model(torch.randn(8, 4)), target).backward()
            optimizer.step()

    found = findings_of(learns, "untrained_parameter", tmp_path / "run")
    assert ["info" if is_copy else "warning"] == [severity for severity, _ in found]


@pytest.mark.parametrize(("kind", "severity"), [("drawn", "warning"), ("learned", "info")])
def test_new_embedding_tables_that_no_optimizer_holds_are_found(kind, severity, tmp_path):
    """Those that were learned before, as their ends tell, may stay as they are."""

    def learns():
        torch.manual_seed(0)
        table, last = nn.Embedding(1000, 16), nn.Linear(16, 2)
        nn.init.normal_(table.weight, std=0.01)
        if kind == "learned":
            table.weight.data.pow_(3)
        model = nn.Sequential(table, nn.Flatten(), last)
        optimizer = torch.optim.Adam(last.parameters())
        for _ in range(14):
            ids = torch.randint(1000, (8, 1))
            optimizer.zero_grad()
            F.cross_entropy(model(ids), ids[:, 0] % 2).backward()
            optimizer.step()

    found = findings_of(learns, "untrained_parameter", tmp_path / "run")
    assert [severity] == [one for one, _ in found]
