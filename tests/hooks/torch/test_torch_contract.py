"""The hook for PyTorch keeps to what every hook keeps to."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch import TorchHook
from stepwatch.testing import hook_contract
from stepwatch.testing.hook_contract import HookContract, Trained
from tests.support import fork_server

SCRIPT = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range({steps}):
    x = torch.randn(16, 4)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""


class TestContract(HookContract):
    loss = "loss/mse_loss"

    @pytest.fixture(autouse=True)
    def forked(self, monkeypatch):
        """Scripts are forked from a process that has PyTorch."""
        monkeypatch.setattr(hook_contract, "subprocess", fork_server)

    def make(self, run, **options):
        return TorchHook(run=run, **options)

    def train(self, hook, steps, each=lambda _: None):
        del hook  # it sees every model
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        losses = []
        for step in range(steps):
            x = torch.randn(16, 4)
            loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
            each(step)
            optimizer.zero_grad()
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
        weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
        return Trained(weights, losses)

    def script(self, steps):
        return SCRIPT.format(steps=steps)

    def patched(self):
        return (F.mse_loss, torch.optim.Adam.step, torch.Tensor.backward, nn.Module.__call__)
