"""Audio-like tone classification with Lightning."""
import argparse
import logging
import math

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def tones(n, seed, length=256, classes=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    t = np.arange(length)
    f = 0.02 + 0.012 * y + rng.normal(0, 0.0015, n)
    phase = rng.uniform(0, 2 * math.pi, n)
    x = np.sin(2 * math.pi * f[:, None] * t + phase[:, None]) + 1.0 * rng.standard_normal((n, length))
    return torch.tensor(x, dtype=torch.float32).unsqueeze(1), torch.tensor(y)


class ToneData(L.LightningDataModule):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        self.train = TensorDataset(*tones(2048, 0))
        self.val = TensorDataset(*tones(600, 1))

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, 200)


class ToneNet(L.LightningModule):
    def __init__(self, max_lr, classes=6):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 15, stride=4, padding=7), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 9, stride=4, padding=4), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, classes))
        self.history = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        lr = self.optimizers().param_groups[0]["lr"]
        print(f"epoch {self.current_epoch} lr {lr:.6f} train {m['train_loss']:.4f} val {m['val_loss']:.4f} acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr / 25, momentum=0.9)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.max_lr, total_steps=int(self.trainer.estimated_stepping_batches))
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--max-lr", type=float, default=0.01)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=64)
    args = ap.parse_args()
    L.seed_everything(0)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(ToneNet(args.max_lr), datamodule=ToneData(args.batch_size))


if __name__ == "__main__":
    main()
