"""One-step-ahead LSTM forecast with early stopping; weight decay on matrices only."""
import logging
import warnings
import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(240, verbose=False)

t = np.arange(1600)
series = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 7.3) + 0.1 * np.random.randn(1600)
W = 30
win = np.lib.stride_tricks.sliding_window_view(series, W + 1).astype("float32")
x, y = torch.tensor(win[:, :-1].copy())[..., None], torch.tensor(win[:, -1:].copy())
cut = 1200                                   # split in time, no shuffling across the border
tr = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=40, shuffle=True)
va = DataLoader(TensorDataset(x[cut + W:], y[cut + W:]), batch_size=400)


class Forecaster(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)
        with torch.no_grad():                # forget gates open at the start
            self.lstm.bias_ih_l0[24:48].fill_(1.0)

    def forward(self, x):
        return x[:, -1] + self.out(self.lstm(x)[0][:, -1])

    def training_step(self, b, _):
        l = nn.functional.mse_loss(self(b[0]), b[1])
        self.log("mse", l, on_step=False, on_epoch=True)
        return l

    def validation_step(self, b, _):
        self.log("val_mse", nn.functional.mse_loss(self(b[0]), b[1]))

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch} val mse {self.trainer.callback_metrics['val_mse']:.5f}")

    def configure_optimizers(self):
        mats = [p for p in self.parameters() if p.ndim > 1]
        rest = [p for p in self.parameters() if p.ndim <= 1]
        return torch.optim.AdamW([{"params": mats, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=4e-3)


tnr = L.Trainer(max_epochs=25, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                enable_model_summary=False, gradient_clip_val=1.0, callbacks=[EarlyStopping("val_mse", patience=4)])
tnr.fit(Forecaster(), tr, va)
print("noise variance 0.01; naive last-value forecast", float(((x[cut:, -1] - y[cut:]) ** 2).mean()))
