"""Activity recognition from 3-axis accelerometer windows, Lightning module with one-cycle learning rate."""
import logging
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def simulate(n, seed, length=64):
    rng = np.random.default_rng(seed)
    t = np.arange(length) / 20.0
    y = rng.integers(0, 6, n)
    x = np.zeros((n, 3, length), np.float32)
    freq = np.array([0.0, 1.0, 1.5, 2.0, 2.6, 2.6])
    for i in range(n):
        f = freq[y[i]] * rng.uniform(0.92, 1.08)
        for a in range(3):
            amp = [0.0, 1.0, 1.0, 1.0, 0.9, 0.9][y[i]] * rng.uniform(0.5, 1.2)
            x[i, a] = amp * np.sin(2 * np.pi * f * t + rng.uniform(0, 6.28))
        if y[i] == 5:
            x[i, 2] += 0.8 * np.sign(np.sin(2 * np.pi * 0.5 * f * t + rng.uniform(0, 6.28)))
        x[i] += rng.normal(0, 0.6, (3, length))
    return TensorDataset(torch.tensor(x), torch.tensor(y))


class HAR(L.LightningModule):
    def __init__(self, max_lr=1e-2, n_classes=6):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv1d(3, 24, 7, padding=3), nn.BatchNorm1d(24), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, n_classes))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch} " + " ".join(f"{k}={float(v):.4f}" for k, v in sorted(m.items())))

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr, momentum=0.9, weight_decay=1e-4)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.max_lr, total_steps=self.trainer.estimated_stepping_batches,
            div_factor=100.0)
        return [opt], [sched]


L.seed_everything(12, verbose=False)
train = DataLoader(simulate(3000, 1), batch_size=64, shuffle=True)
val = DataLoader(simulate(800, 2), batch_size=200)
model = HAR()
trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, train, val)
print("final validation accuracy %.3f" % float(trainer.callback_metrics["val_acc"]))
