"""Day-ahead load forecasting with an LSTM in Lightning."""
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
L.seed_everything(30, verbose=False)


def load_series(days=140):
    rng = np.random.default_rng(30)
    t = np.arange(days * 24)
    daily = 10 * np.sin(2 * np.pi * (t % 24) / 24 - 1.5) + 4 * np.sin(4 * np.pi * (t % 24) / 24)
    ar = np.zeros(len(t))
    for i in range(1, len(t)):
        ar[i] = 0.9 * ar[i - 1] + rng.normal(0, 0.6)
    return (60 + daily + ar).astype(np.float32)


series = load_series()
split = int(len(series) * 0.8)
mean, std = series[:split].mean(), series[:split].std()
scaled = (series - mean) / std


class Windows(Dataset):
    def __init__(self, values, history=72, horizon=24, stride=2):
        self.values = torch.from_numpy(values)
        self.history, self.horizon = history, horizon
        self.starts = list(range(0, len(values) - history - horizon + 1, stride))

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i]
        angle = 2 * np.pi * (torch.arange(s, s + self.history) % 24) / 24
        x = torch.stack([self.values[s : s + self.history], angle.sin(), angle.cos()], dim=-1)
        y = self.values[s + self.history : s + self.history + self.horizon]
        return x, y


class Forecaster(L.LightningModule):
    def __init__(self, hidden=32, horizon=24):
        super().__init__()
        self.lstm = nn.LSTM(3, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon)
        self.loss = nn.MSELoss()

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_mse", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        self.log("val_mae", (pred - y).abs().mean() * float(std))
        self.log("naive_mae", (x[:, -24:, 0] - y).abs().mean() * float(std))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch}: mse {m['train_mse']:.4f}  val MAE {m['val_mae']:.3f} (yesterday: {m['naive_mae']:.3f})")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=5e-3)
        sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2, factor=0.5)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "monitor": "val_mae"}}


train_dl = DataLoader(Windows(scaled[:split]), batch_size=32, shuffle=True)
val_dl = DataLoader(Windows(scaled[split - 72 :]), batch_size=64)
trainer = L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False, gradient_clip_val=1.0,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(Forecaster(), train_dl, val_dl)
