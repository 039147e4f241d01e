"""The hook for Lightning keeps to what every hook keeps to."""

from __future__ import annotations

import lightning.pytorch as pl
import pytest
import torch

from stepwatch.hooks.lightning import LightningHook
from stepwatch.testing.hook_contract import HookContract
from tests.support.frameworks.lightning.lightning_trainings import train

pytestmark = pytest.mark.framework

SCRIPT = """
import logging
import {name} as pl
import torch

logging.getLogger("{logger}").setLevel(logging.ERROR)

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def training_step(self, batch, batch_idx):
        loss = torch.nn.functional.mse_loss(self.net(batch), batch.sum(1, keepdim=True))
        self.last = loss.item()
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

torch.manual_seed(0)
model = Model()
loader = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=16)
trainer = pl.Trainer(max_steps={steps}, logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
trainer.fit(model, loader)
print(model.last)
"""


class TestLightning(HookContract):
    loss = "loss/mse_loss"
    name = "lightning.pytorch"

    def make(self, run, **options):
        return LightningHook(run, **options)

    def train(self, hook, steps, each=lambda _: None):
        return train(self.name, hook, steps, each)

    def script(self, steps):
        return SCRIPT.format(steps=steps, name=self.name, logger=self.name)

    def patched(self):
        return (pl.Trainer.__init__, torch.optim.Adam.step, torch.nn.functional.mse_loss)
