"""Lightning that accumulates and clips by its own options."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))

    def _loss(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x).squeeze(-1), y)

    def training_step(self, batch, batch_idx):
        return self._loss(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._loss(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class Data(L.LightningDataModule):
    def setup(self, stage):
        x = torch.randn(640, 6)
        self.data = TensorDataset(x, x.sum(1).sin())

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=8, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.data, batch_size=64)


L.seed_everything(1)
trainer = L.Trainer(max_epochs=3, accumulate_grad_batches=4, gradient_clip_val=0.5,
                    accelerator="cpu", logger=False, enable_progress_bar=False)  # fmt: skip
trainer.fit(Regressor(), datamodule=Data())
