"""Which of the default rules can judge trainings of PyTorch, as the page on parity has it."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from stepwatch.hooks.torch import TorchHook
from tests.support.frameworks import parity


def fit(run, model, x, y, loss_of, *, clips=False):
    """Train by a loader, with an evaluation after each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x[:384], y[:384]), 32, shuffle=True
    )
    with TorchHook(run=run, say=lambda _: None, strict=True):
        for _ in range(20):
            model.train()
            for given, target in loader:
                optimizer.zero_grad()
                loss_of(model(given), target).backward()
                if clips:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for start in range(384, 512, 32):
                    part = slice(start, start + 32)
                    loss_of(model(x[part]), y[part])
    return run


@pytest.mark.slow
def test_the_rules_that_can_judge_are_those_of_the_page(tmp_path):
    """Neither more nor fewer: what is captured and what the page says belong together."""
    torch.manual_seed(0)
    features, tokens = torch.randn(512, 8), torch.randint(0, 16, (512, 6))
    classes = (features[:, 0] > 0).long() + (features[:, 1] > 0).long()
    of_features = nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Dropout(0.1), nn.Linear(16, 3)
    )
    of_tokens = nn.Sequential(nn.Embedding(16, 4), nn.Flatten(), nn.Linear(24, 3))
    sums = features.sum(1, keepdim=True)

    runs = [
        fit(tmp_path / "a", of_features, features, classes, functional.cross_entropy),
        fit(tmp_path / "b", of_tokens, tokens, tokens[:, 0] % 3, functional.cross_entropy),
        fit(tmp_path / "c", nn.Linear(8, 1), features, sums, functional.mse_loss, clips=True),
    ]

    assert parity.promised("PyTorch") == parity.judged(*runs)
