"""A training by Lightning, under either of its names."""

from __future__ import annotations

import importlib

import torch
from torch import nn

from stepwatch.testing.hook_contract import Trained


def training(name):
    """Return the module of Lightning that goes by a name, and a model class for it."""
    pl = importlib.import_module(name)

    class Regression(pl.LightningModule):
        """Learns the sum of its inputs."""

        def __init__(self, each=lambda _: None):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 1))
            self.each, self.losses = each, []

        def _loss(self, batch):
            return nn.functional.mse_loss(self.net(batch), batch.sum(1, keepdim=True))

        def training_step(self, batch, batch_idx):
            loss = self._loss(batch)
            self.log("train_loss", loss)
            self.losses.append(loss.item())
            self.each(len(self.losses) - 1)
            return loss

        def validation_step(self, batch, batch_idx):
            self.log("val_loss", self._loss(batch))

        test_step = validation_step

        def predict_step(self, batch, batch_idx):
            return self.net(batch)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    return pl, Regression


def loader(batches, seed=1):
    """Return a loader of batches of 16 samples."""
    samples = torch.randn(16 * batches, 4, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.DataLoader(samples, batch_size=16)


def quiet_trainer(pl, folder, **options):
    """Return a trainer that shows and stores nothing."""
    return pl.Trainer(
        default_root_dir=folder,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )


def train(name, hook, steps, each, folder="/tmp"):
    """Train for so many steps, in epochs of 4 batches."""
    pl, regression = training(name)
    torch.manual_seed(0)
    model = regression(each)
    callbacks = [] if hook is None else [hook]
    trainer = quiet_trainer(pl, folder, max_steps=steps, callbacks=callbacks)
    trainer.fit(model, loader(4))
    weights = {key: value.detach().numpy() for key, value in model.named_parameters()}
    return Trained(weights, model.losses)
