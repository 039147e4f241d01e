"""pytest: a training is a test. It fails where a rule finds something, and says what.

    pytest examples/test_training.py

The fixture `healthy` calls a function once for each step; the marker `training` watches whatever a
test trains. Both come with Stepwatch. Make the optimizer of `model[0].parameters()` and see.
"""

import pytest
import torch
from torch import nn


def make_step():
    """Return what trains one step of a small model."""
    torch.manual_seed(0)
    inputs = torch.randn(256, 8)
    targets = inputs.sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step():
        batch = torch.randint(len(inputs), (32,))
        loss = nn.functional.mse_loss(model(inputs[batch]), targets[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def test_model_trains(healthy):
    healthy(make_step(), steps=50)


@pytest.mark.training(rules="default; loss_spike:warmup_steps=20")
def test_loss_falls_and_nothing_is_wrong_on_the_way():
    step = make_step()
    losses = [step() for _ in range(100)]

    assert losses[-1] < losses[0] / 10
