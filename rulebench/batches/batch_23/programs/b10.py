"""Predict hourly bike rentals (counts) with Lightning."""
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


def make_rentals(n, seed):
    rng = np.random.default_rng(seed)
    hour = rng.integers(0, 24, n)
    temp = rng.normal(15, 8, n)
    rain = (rng.random(n) < 0.2).astype(float)
    weekend = (rng.random(n) < 2 / 7).astype(float)
    log_rate = (0.9 + 0.6 * np.sin((hour - 8) / 24 * 2 * np.pi) + 0.04 * (temp - 15)
                - 0.6 * rain + 0.2 * weekend)
    count = rng.poisson(np.exp(log_rate))
    x = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi),
                  (temp - 15) / 8, rain, weekend], 1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(count, dtype=torch.float32)


class CountModel(L.LightningModule):
    def __init__(self, in_features=5, hidden=64, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(in_features, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1), nn.Softplus())

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.poisson_nll_loss(self(x), y, log_input=True)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        self.log("val_loss", F.poisson_nll_loss(pred, y, log_input=True))
        self.log("val_mae", F.l1_loss(pred, y))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train_loss {m['train_loss']:.4f} "
              f"val_loss {m['val_loss']:.4f} val_mae {m['val_mae']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(12, verbose=False)
    train = DataLoader(TensorDataset(*make_rentals(6000, 1)), batch_size=64, shuffle=True)
    xv, yv = make_rentals(2000, 2)
    val = DataLoader(TensorDataset(xv, yv), batch_size=500)

    model = CountModel()
    trainer = L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, train, val)

    model.eval()
    with torch.no_grad():
        pred = model(xv)
    print(f"mean predicted {pred.mean():.2f}, mean observed {yv.mean():.2f}")
    print(f"RMSE {(pred - yv).pow(2).mean().sqrt():.3f}  (std of target {yv.std():.3f})")
