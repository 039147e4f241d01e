"""LSTM forecaster, chronological split, Lightning."""
import argparse
import logging
import warnings
import numpy as np
import torch
from torch import nn
import lightning as L
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def series(n=2600, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    e = np.zeros(n)
    for i in range(1, n):
        e[i] = 0.7 * e[i - 1] + rng.normal(scale=0.2)
    return (20 + 5 * np.sin(2 * np.pi * t / 48) + 2 * np.sin(2 * np.pi * t / 12) + e).astype(np.float32)


class Windows(Dataset):
    def __init__(self, s, seq, horizon):
        self.s, self.seq, self.h = torch.from_numpy(s), seq, horizon

    def __len__(self):
        return len(self.s) - self.seq - self.h + 1

    def __getitem__(self, i):
        j = i + self.seq
        return self.s[i:j].unsqueeze(-1), self.s[j:j + self.h]


class Forecast(L.LightningModule):
    def __init__(self, hidden, horizon, lr, sd):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, horizon)

    def forward(self, x):
        out, _ = self.rnn(x)
        return x[:, -1] + self.head(out[:, -1])

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.l1_loss(self(x), y)
        self.log("train_mae", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mae", nn.functional.l1_loss(self(x), y) * self.hparams.sd)
        self.log("naive", nn.functional.l1_loss(x[:, -1].expand_as(y), y) * self.hparams.sd)

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} val mae {float(m['val_mae']):.3f} persistence {float(m['naive']):.3f}")

    def configure_optimizers(self):
        opt = torch.optim.RMSprop(self.parameters(), lr=self.hparams.lr)
        sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "monitor": "val_mae"}}


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seq", type=int, default=36)
    ap.add_argument("--horizon", type=int, default=6)
    ap.add_argument("--hidden", type=int, default=24)
    ap.add_argument("--epochs", type=int, default=7)
    ap.add_argument("--lr", type=float, default=4e-3)
    a = ap.parse_args()
    L.seed_everything(1)
    s = series()
    cut = 2000
    mu, sd = s[:cut].mean(), s[:cut].std()
    s = (s - mu) / sd
    tr, va = Windows(s[:cut], a.seq, a.horizon), Windows(s[cut:], a.seq, a.horizon)
    trainer = L.Trainer(max_epochs=a.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0,
                        num_sanity_val_steps=0)
    trainer.fit(Forecast(a.hidden, a.horizon, a.lr, float(sd)),
                DataLoader(tr, batch_size=64, shuffle=True), DataLoader(va, batch_size=256))
