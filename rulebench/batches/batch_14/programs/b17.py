# quantile regression with lightning: 5 / 50 / 95 % bands for daily demand
import lightning as L
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(3)
rng = np.random.default_rng(3)
n = 4000
temp = rng.uniform(-10, 35, n)
dow = rng.integers(0, 7, n)
noise = rng.normal(0, 1, n) * (1 + 0.12 * np.abs(temp - 15))
demand = 50 + 0.05 * (temp - 18) ** 2 - 6 * (dow >= 5) + noise
X = np.column_stack([(temp - 12.5) / 13, np.eye(7)[dow]])
Y = (demand - demand[:3000].mean()) / demand[:3000].std()
X, Y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
train = DataLoader(TensorDataset(X[:3000], Y[:3000]), batch_size=100, shuffle=True)
val = DataLoader(TensorDataset(X[3000:], Y[3000:]), batch_size=1000)


class Bands(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.register_buffer("q", torch.tensor([0.05, 0.5, 0.95]))
        self.net = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 3))

    def forward(self, x):
        o = self.net(x)
        lo = o[:, 1] - nn.functional.softplus(o[:, 0])
        hi = o[:, 1] + nn.functional.softplus(o[:, 2])
        return torch.stack([lo, o[:, 1], hi], 1)

    def pinball(self, batch):
        x, y = batch
        e = y[:, None] - self(x)
        return torch.maximum(self.q * e, (self.q - 1) * e).mean()

    def training_step(self, batch, _):
        return self.pinball(batch)

    def validation_step(self, batch, _):
        x, y = batch
        p = self(x)
        self.log_dict({"pinball": self.pinball(batch), "coverage90": ((y > p[:, 0]) & (y < p[:, 2])).float().mean(),
                       "below_median": (y < p[:, 1]).float().mean()})

    def on_validation_epoch_end(self):
        print({k: round(float(v), 3) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=4e-3)
        sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=4e-3, total_steps=self.trainer.estimated_stepping_batches)
        return [opt], [{"scheduler": sch, "interval": "step"}]


L.Trainer(max_epochs=20, check_val_every_n_epoch=4, accelerator="cpu", logger=False, enable_checkpointing=False,
          enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0).fit(Bands(), train, val)
