"""Predictions that depend on what they must not: how it is told."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

from tests.support.rules.rule_runs import judge

pytestmark = pytest.mark.usefixtures("one_thread")


class _Writer(nn.Module):
    def __init__(self, *, turns=False):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.rnn = nn.GRU(8, 8)
        self.out = nn.Linear(8, 12)
        self.turns = turns

    def forward(self, tokens):
        given = self.embed(tokens)
        if self.turns:
            return self.out(self.rnn(given.transpose(0, 1))[0]).transpose(0, 1)
        return self.out(self.rnn(given)[0])


def _writes(*, turns=False, time_first=False):
    """A recurrent model of texts of 12 tokens, 16 at a time."""

    def train():
        torch.manual_seed(0)
        model = _Writer(turns=turns)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        data = torch.randint(0, 12, (400,))
        for _ in range(24):
            at = torch.randint(0, 380, (16,))
            texts = torch.stack([data[i : i + 13] for i in at.tolist()])
            inputs, targets = texts[:, :-1], texts[:, 1:]
            if time_first:
                inputs, targets = inputs.T, targets.T
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
            optimizer.step()

    return train


class TestRecurrent:
    def test_a_layer_that_goes_along_the_samples_of_texts(self, tmp_path):
        """That the targets are the next tokens shows which axis is time."""
        found, _ = judge(_writes(), "dependence", tmp_path / "run")
        told = [json.loads(one) for one in found]

        assert [("as_time", "warning")] == [(one["condition"], one["severity"]) for one in told]

    @pytest.mark.parametrize("how", [{"turns": True}, {"time_first": True}])
    def test_a_layer_that_is_given_time_first_is_right(self, how, tmp_path):
        """Whether the model turns its input or the script does."""
        assert [] == judge(_writes(**how), "dependence", tmp_path / "run")[0]
