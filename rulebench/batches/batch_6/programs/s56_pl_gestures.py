"""Gesture recognition from accelerometer windows (simulated), Lightning module."""
import logging
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import lightning as L

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(3)


def simulate(n, seed):
    g = np.random.default_rng(seed)
    y = g.integers(0, 5, n)
    t = np.linspace(0, 1, 50)
    out = np.empty((n, 3, 50), np.float32)
    for i, c in enumerate(y):
        ph = g.uniform(0, 2 * np.pi)
        f = [2, 3, 4, 5, 6][c] * g.uniform(0.92, 1.08)
        for a in range(3):
            out[i, a] = np.sin(2 * np.pi * f * t + ph + a) * (1 + 0.3 * (a == c % 3)) + g.normal(0, 0.6, 50)
    return torch.from_numpy(out), torch.from_numpy(y)


class GestureNet(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(3, 24, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
                                 nn.Conv1d(24, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4),
                                 nn.Flatten(), nn.Linear(128, 5))
        self.loss = nn.CrossEntropyLoss()

    def training_step(self, batch, _):
        x, y = batch
        loss = self.loss(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_acc", (self.net(x).argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train_loss {float(m.get('train_loss', float('nan'))):.4f} val_acc {float(m['val_acc']):.4f}")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=2e-3)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=4, gamma=0.5)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


train = DataLoader(TensorDataset(*simulate(1500, 0)), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(*simulate(500, 1)), batch_size=250)
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(GestureNet(), train, val)
