"""LightningModule wrapper used across our regression projects (concrete strength here)."""
import logging
import warnings

import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(22, verbose=False)


def mlp(n_in, width, depth):
    layers = []
    for i in range(depth):
        layers += [nn.Linear(n_in if i == 0 else width, width), nn.ELU()]
    return nn.Sequential(*layers, nn.Linear(width, 1))


class Regressor(L.LightningModule):
    def __init__(self, n_in, width=32, depth=2, lr=3e-3):
        super().__init__()
        self.net = mlp(n_in, width, depth)
        self.opt = torch.optim.Adam(self.parameters(), lr=lr)
        self.hist = []

    def widen(self, n_in, width, depth):
        self.net = mlp(n_in, width, depth)

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.smooth_l1_loss(self.net(x), y)
        self.hist.append(loss.item())
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mae", (self.net(x) - y).abs().mean(), on_epoch=True)

    def on_train_epoch_end(self):
        if self.current_epoch % 4 == 0:
            print(f"epoch {self.current_epoch} loss {np.mean(self.hist[-30:]):.4f} "
                  f"val_mae {self.trainer.callback_metrics['val_mae']:.4f}")

    def configure_optimizers(self):
        return {"optimizer": self.opt,
                "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, 20)}


rng = np.random.default_rng(22)
mix = rng.uniform(0, 1, (1500, 8)).astype("float32")
strength = (40 * mix[:, 0] / (0.3 + mix[:, 3]) * (1 - np.exp(-3 * mix[:, 7])) + 8 * mix[:, 1] * mix[:, 4]
            + rng.normal(0, 1, 1500)).astype("float32")[:, None]
strength = (strength - strength.mean()) / strength.std()
x, y = torch.from_numpy((mix - 0.5) * 3.46), torch.from_numpy(strength)
tr = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=40, shuffle=True)
va = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=300)

model = Regressor(n_in=8)
model.widen(8, width=64, depth=3)       # this data set is the biggest of the four
trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, tr, va)
