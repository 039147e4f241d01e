"""Day-ahead electric load forecasting with an LSTM (simulated grid data)."""
import logging, warnings
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import lightning as L

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(10)

rng = np.random.default_rng(10)
h = np.arange(24 * 150)
load = 42000 + 6500 * np.sin(2 * np.pi * (h % 24 - 7) / 24) + 2500 * np.sin(2 * np.pi * h / (24 * 7)) + 600 * rng.normal(size=h.size)
temp = 15 + 8 * np.sin(2 * np.pi * h / 24 - 1.2) + rng.normal(size=h.size)
feats = np.stack([load, temp], 1).astype("float32")
mean, std = load.mean(), load.std()
W = 24
X = np.stack([feats[i:i + W] for i in range(len(h) - W)])
y = ((load[W:] - mean) / std).astype("float32")[:, None]
cut = int(0.8 * len(X))


class Forecaster(L.LightningModule):
    def __init__(self, hidden=32, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.rnn = nn.LSTM(2, hidden, num_layers=1, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        o, _ = self.rnn(x)
        return self.out(o[:, -1])

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.smooth_l1_loss(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_mse", nn.functional.mse_loss(self(x), y))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch}: train {m['train_loss']:.4f} val mse {m['val_mse']:.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


t = torch.from_numpy
train_dl = DataLoader(TensorDataset(t(X[:cut]), t(y[:cut])), batch_size=64, shuffle=True)
val_dl = DataLoader(TensorDataset(t(X[cut:]), t(y[cut:])), batch_size=256)
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0, num_sanity_val_steps=0)
trainer.fit(Forecaster(), train_dl, val_dl)
print("persistence mse (normalised): %.4f" % float(np.mean((y[cut + 1:] - y[cut:-1]) ** 2)))
