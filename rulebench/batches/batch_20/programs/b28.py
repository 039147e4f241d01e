"""Probabilistic 6-step forecast with a GRU: mean and variance, Gaussian likelihood."""
import logging
import math
import warnings
import numpy as np
import torch
import torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, Dataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
L.seed_everything(33)

HIST, HORIZON = 30, 6


def make_series(n=2600):
    t = np.arange(n)
    noise = np.random.default_rng(33).normal(size=n)
    level = np.sin(2 * np.pi * t / 20) + 0.4 * np.sin(2 * np.pi * t / 7)
    sigma = 0.03 + 0.1 * (np.sin(2 * np.pi * t / 20) > 0)
    return (level + sigma * noise).astype(np.float32)


series = make_series()
cut_a, cut_b = 1900, 2250
mean, std = series[:cut_a].mean(), series[:cut_a].std()


class Windows(Dataset):
    def __init__(self, values):
        self.v = torch.from_numpy((values - mean) / std)

    def __len__(self):
        return len(self.v) - HIST - HORIZON + 1

    def __getitem__(self, i):
        return self.v[i:i + HIST].unsqueeze(-1), self.v[i + HIST:i + HIST + HORIZON]


class Forecaster(L.LightningModule):
    def __init__(self, hidden=32, lr=4e-3):
        super().__init__()
        self.save_hyperparameters()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.mu = nn.Linear(hidden, HORIZON)
        self.log_sigma = nn.Linear(hidden, HORIZON)

    def forward(self, x):
        _, h = self.gru(x)
        h = h[-1]
        return self.mu(h), self.log_sigma(h).clamp(-5, 2)

    def nll(self, batch):
        x, y = batch
        mu, ls = self(x)
        return (ls + 0.5 * ((y - mu) / ls.exp()) ** 2 + 0.5 * math.log(2 * math.pi)).mean()

    def training_step(self, batch, batch_idx):
        loss = self.nll(batch)
        self.log("train_nll", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_nll", self.nll(batch))

    def test_step(self, batch, batch_idx):
        x, y = batch
        mu, ls = self(x)
        inside = ((y - mu).abs() < 1.645 * ls.exp()).float().mean()
        self.log_dict({"test_nll": self.nll(batch), "test_rmse": (y - mu).pow(2).mean().sqrt(),
                       "coverage_90": inside})

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch}  train nll {m['train_nll']:.4f}  val nll {m['val_nll']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, max_lr=self.hparams.lr, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


train = DataLoader(Windows(series[:cut_a]), batch_size=64, shuffle=True)
val = DataLoader(Windows(series[cut_a:cut_b]), batch_size=400)
test = DataLoader(Windows(series[cut_b:]), batch_size=400)
trainer = L.Trainer(max_epochs=16, accelerator="cpu", gradient_clip_val=1.0, logger=False,
                    enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, num_sanity_val_steps=0)
model = Forecaster()
trainer.fit(model, train, val)
print(trainer.test(model, test, verbose=False)[0])
