import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
L.seed_everything(6)
n_users, n_items, rank = 300, 200, 4
rng = np.random.default_rng(6)
P, Q = rng.normal(size=(n_users, rank)), rng.normal(size=(n_items, rank))
u = rng.integers(0, n_users, 20000)
i = rng.integers(0, n_items, 20000)
r = (P[u] * Q[i]).sum(1) * 0.5 + 0.3 * rng.normal(size=n_users)[u] + rng.normal(0, 0.2, 20000) + 3.0
T = [torch.tensor(u), torch.tensor(i), torch.tensor(r, dtype=torch.float32)]
train_dl = DataLoader(TensorDataset(*[t[:18000] for t in T]), batch_size=256, shuffle=True)
val_dl = DataLoader(TensorDataset(*[t[18000:] for t in T]), batch_size=1000)


class MF(L.LightningModule):
    def __init__(self, mean):
        super().__init__()
        self.automatic_optimization = False
        self.user = nn.Embedding(n_users, 8, sparse=True)
        self.item = nn.Embedding(n_items, 8, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.bias = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
        self.register_buffer("mean", torch.tensor(mean))

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return self.mean + (a * b).sum(1) + self.bias(torch.cat([a, b], 1)).squeeze(1)

    def training_step(self, batch, _):
        u, i, r = batch
        sparse_opt, dense_opt = self.optimizers()
        loss = F.mse_loss(self(u, i), r)
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        self.manual_backward(loss)
        sparse_opt.step()
        dense_opt.step()
        self.log("train_loss", loss, on_epoch=True, on_step=False)

    def on_train_epoch_end(self):
        for s in self.lr_schedulers():
            s.step()

    def validation_step(self, batch, _):
        u, i, r = batch
        self.log("val_mse", F.mse_loss(self(u, i), r))

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} val mse {m['val_mse']:.4f}" if "val_mse" in m else "")

    def configure_optimizers(self):
        s = torch.optim.SparseAdam(list(self.user.parameters()) + list(self.item.parameters()), lr=0.03)
        d = torch.optim.AdamW(self.bias.parameters(), lr=1e-3)
        return [s, d], [torch.optim.lr_scheduler.ExponentialLR(o, 0.8) for o in (s, d)]


model = MF(float(r[:18000].mean()))
trainer = L.Trainer(max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(model, train_dl, val_dl)
print("final val mse %.4f, rating variance %.4f, noise floor 0.04" % (trainer.callback_metrics["val_mse"], r.var()))
