"""Sunspot-style multi-step forecasting with a temporal conv net in Lightning."""
import warnings
from argparse import ArgumentParser

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")


class WindowDataset(Dataset):
    def __init__(self, series, lookback, horizon):
        self.series = torch.tensor(series, dtype=torch.float32)
        self.lookback, self.horizon = lookback, horizon

    def __len__(self):
        return len(self.series) - self.lookback - self.horizon + 1

    def __getitem__(self, i):
        mid = i + self.lookback
        return self.series[i:mid], self.series[mid:mid + self.horizon]


class SeriesData(L.LightningDataModule):
    def __init__(self, lookback=64, horizon=8, batch_size=32):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        rng = np.random.default_rng(6)
        t = np.arange(2600)
        s = (np.sin(2 * np.pi * t / 33) * (1 + 0.4 * np.sin(2 * np.pi * t / 240))
             + 0.4 * np.sin(2 * np.pi * t / 11 + 1) + rng.normal(0, 0.15, len(t)))
        cut = 2100
        mu, sd = s[:cut].mean(), s[:cut].std()
        s = (s - mu) / sd
        h = self.hparams
        self.train = WindowDataset(s[:cut], h.lookback, h.horizon)
        self.val = WindowDataset(s[cut:], h.lookback, h.horizon)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.hparams.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=256)


class TCN(L.LightningModule):
    def __init__(self, channels=24, horizon=8, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.convs = nn.ModuleList(
            nn.Conv1d(1 if i == 0 else channels, channels, 3, dilation=2 ** i) for i in range(5))
        self.head = nn.Linear(channels, horizon)

    def forward(self, x):
        h = x.unsqueeze(1)
        for i, conv in enumerate(self.convs):
            out = F.relu(conv(F.pad(h, (2 * 2 ** i, 0))))
            h = out if i == 0 else h + out
        return x[:, -1:] + self.head(h[:, :, -1])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_mse", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_mse", F.mse_loss(self(x), y))
        self.log("naive_mse", F.mse_loss(x[:, -1:].expand_as(y), y))

    def on_train_epoch_end(self):
        m = {k: float(v) for k, v in self.trainer.callback_metrics.items()}
        print(f"epoch {self.current_epoch:2d} " + " ".join(f"{k} {v:.4f}" for k, v in sorted(m.items())))

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=2)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "monitor": "val_mse"}}


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    L.seed_everything(1, verbose=False)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", gradient_clip_val=1.0, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(TCN(), datamodule=SeriesData())
