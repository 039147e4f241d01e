"""Hourly load forecasting with a temporal conv net."""
import numpy as np
import torch
import torch.nn as nn
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping
from torch.utils.data import DataLoader, Dataset

L.seed_everything(4)
rng = np.random.default_rng(4)
T = 24 * 150
t = np.arange(T)
temp = 12 + 8 * np.sin(2 * np.pi * t / (24 * 60)) + np.cumsum(rng.normal(0, 0.05, T))
load = (50 + 10 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(4 * np.pi * t / 24 + 1)
        - 6 * ((t // 24) % 7 >= 5) + 0.5 * np.abs(temp - 16) + rng.normal(0, 1.0, T))

LOOKBACK, HORIZON = 72, 6
split = int(T * 0.8)
mu, sd = load[:split].mean(), load[:split].std()
tm, ts = temp[:split].mean(), temp[:split].std()
series = np.stack([(load - mu) / sd, (temp - tm) / ts, (((t // 24) % 7) >= 5) * 1.0]).astype(np.float32)


class Windows(Dataset):
    def __init__(self, arr):
        self.arr = torch.from_numpy(arr)

    def __len__(self):
        return self.arr.shape[1] - LOOKBACK - HORIZON + 1

    def __getitem__(self, i):
        past = self.arr[:, i:i + LOOKBACK]
        future = self.arr[0, i + LOOKBACK:i + LOOKBACK + HORIZON]
        return past, future


class TCN(L.LightningModule):
    def __init__(self, ch=24):
        super().__init__()
        layers, c = [], 3
        for dil in (1, 2, 4, 8):
            layers += [nn.ConstantPad1d((2 * dil, 0), 0.0), nn.Conv1d(c, ch, 3, dilation=dil), nn.ReLU()]
            c = ch
        self.net = nn.Sequential(*layers)
        self.head = nn.Linear(ch + LOOKBACK, HORIZON)

    def forward(self, x):
        return self.head(torch.cat([self.net(x)[:, :, -1], x[:, 0]], 1))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        pred = self(x)
        self.log("val_loss", nn.functional.mse_loss(pred, y))
        self.log("val_mae_mw", (pred - y).abs().mean() * sd)
        self.log("naive_mae_mw", (x[:, 0, -24:-24 + HORIZON] - y).abs().mean() * sd)

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(self.current_epoch, {k: round(m[k].item(), 4) for k in m})

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=1e-3)
        sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "monitor": "val_loss"}}


train_loader = DataLoader(Windows(series[:, :split]), batch_size=64, shuffle=True)
val_loader = DataLoader(Windows(series[:, split - LOOKBACK:]), batch_size=256)
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, callbacks=[EarlyStopping("val_loss", patience=5)])
trainer.fit(TCN(), train_loader, val_loader)
