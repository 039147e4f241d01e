"""
Heteroscedastic regression: the net predicts mean and log-sigma, Gaussian NLL.
EarlyStopping on the validation NLL.
"""
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping

L.seed_everything(2)
rng = np.random.default_rng(2)
n = 3000
x = rng.uniform(-3, 3, (n, 1))
sig = 0.03 + 0.12 * (x > 0) * x / 3
y = 0.5 * np.sin(2 * x) + sig * rng.normal(size=(n, 1))
x, y, sig = (torch.tensor(a, dtype=torch.float32) for a in (x, y, sig))


class Hetero(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.mean, self.log_sigma = nn.Linear(64, 1), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h), self.log_sigma(h).clamp(-6, 3)

    def nll(self, batch):
        x, y = batch
        m, ls = self(x)
        return (ls + 0.5 * ((y - m) / ls.exp()) ** 2).mean()

    def training_step(self, batch, _):
        loss = self.nll(batch)
        self.log("train_nll", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_nll", self.nll(batch))

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 0:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch:3d} train nll {m['train_nll']:.3f} val nll {m['val_nll']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


tr = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=50, shuffle=True)
va = DataLoader(TensorDataset(x[2400:], y[2400:]), batch_size=600)
net = Hetero()
trainer = L.Trainer(max_epochs=80, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, num_sanity_val_steps=0, gradient_clip_val=1.0,
                    callbacks=[EarlyStopping("val_nll", patience=12)])
trainer.fit(net, tr, va)
with torch.no_grad():
    m, ls = net(x[2400:])
print("rmse of mean", (m - 0.5 * torch.sin(2 * x[2400:])).pow(2).mean().sqrt().item(),
      "corr of sigma", np.corrcoef(ls.exp().ravel(), sig[2400:].ravel())[0, 1])
