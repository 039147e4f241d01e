"""GRU one-step-ahead forecaster for an hourly load curve (Lightning)."""
import argparse
import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def load_curve(n, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    s = 3 * np.sin(2 * np.pi * t / 24) + 1.5 * np.sin(2 * np.pi * t / 168) + 0.8 * np.sin(2 * np.pi * t / 12 + 1)
    ar = np.zeros(n)
    for i in range(1, n):
        ar[i] = 0.8 * ar[i - 1] + rng.normal(0, 0.25)
    return 20 + s + ar


class LoadData(L.LightningDataModule):
    def __init__(self, window=48, batch_size=32):
        super().__init__()
        self.window, self.batch_size = window, batch_size

    def windows(self, s):
        w = np.lib.stride_tricks.sliding_window_view(s, self.window + 1)
        w = torch.tensor(w.copy(), dtype=torch.float32)
        return TensorDataset(w[:, :-1, None], w[:, -1])

    def setup(self, stage=None):
        s = load_curve(2400, 0)
        tr, va = s[:1900], s[1900:]
        m, sd = tr.mean(), tr.std()
        self.tr, self.va = self.windows((tr - m) / sd), self.windows((va - m) / sd)

    def train_dataloader(self):
        return DataLoader(self.tr, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.va, batch_size=256)


class GRUForecaster(L.LightningModule):
    def __init__(self, hidden=24, lr=3e-3, gamma=0.85):
        super().__init__()
        self.save_hyperparameters()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1]).squeeze(-1)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_mse", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mse", F.mse_loss(self(x), y))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train {m['train_mse']:.4f} val {m['val_mse']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        sch = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=self.hparams.gamma)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "interval": "step"}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--hidden", type=int, default=24)
    ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    L.seed_everything(0)
    model = GRUForecaster(a.hidden, a.lr)
    trainer = L.Trainer(max_epochs=a.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(model, datamodule=LoadData())


if __name__ == "__main__":
    main()
