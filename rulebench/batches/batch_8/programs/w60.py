import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
warnings.filterwarnings("ignore", ".*does not have many workers.*")


class Forecaster(L.LightningModule):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.rnn = nn.LSTM(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])

    def training_step(self, b, i):
        loss = F.mse_loss(self(b[0]), b[1])
        self.log("train", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, b, i):
        self.log("val", F.mse_loss(self(b[0]), b[1]))

    def on_validation_epoch_end(self):
        print({k: round(float(v), 5) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        o = torch.optim.AdamW(self.parameters(), lr=1e-3)
        s = torch.optim.lr_scheduler.OneCycleLR(o, max_lr=1e-2, total_steps=self.steps)
        return {"optimizer": o, "lr_scheduler": {"scheduler": s, "interval": "step"}}


L.seed_everything(302, verbose=False)
t = torch.arange(1600).float()
series = torch.sin(t / 5) + 0.5 * torch.sin(t / 13) + 0.05 * torch.randn(1600)
series = (series - series[:1200].mean()) / series[:1200].std()
W = 24
win = series.unfold(0, W + 1, 1)
xs, ys = win[:, :W, None], win[:, W:]
tr = DataLoader(TensorDataset(xs[:1200 - W], ys[:1200 - W]), batch_size=32, shuffle=True)
va = DataLoader(TensorDataset(xs[1200:], ys[1200:]), batch_size=256)
E = 8
print("naive forecast mse", F.mse_loss(xs[1200:, -1], ys[1200:]).item())
L.Trainer(max_epochs=E, accelerator="cpu", logger=False, enable_checkpointing=False, gradient_clip_val=1.0,
          enable_progress_bar=False, enable_model_summary=False).fit(Forecaster(E * len(tr)), tr, va)
