"""A classifier in Lightning that logs, validates, and has a schedule by epoch."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self(x), y), prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


if __name__ == "__main__":
    L.seed_everything(42)
    x = torch.randn(320, 10)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    trained = DataLoader(TensorDataset(x[:128], y[:128]), batch_size=16, shuffle=True)
    held_out = DataLoader(TensorDataset(x[256:], y[256:]), batch_size=32)
    trainer = L.Trainer(max_epochs=4, accelerator="cpu", logger=False, enable_progress_bar=False)
    trainer.fit(Classifier(), trained, held_out)
