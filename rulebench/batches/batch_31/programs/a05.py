import lightning as L
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

L.seed_everything(17)
torch.set_num_threads(1)

# Delivery times: we want the 90% quantile, so that the promise on the web page is kept 9 times of 10.
rng = np.random.default_rng(17)
n = 6000
dist = rng.uniform(0.5, 12, n)
hour = rng.integers(8, 23, n)
rain = rng.random(n) < 0.25
load = rng.beta(2, 3, n)
mean = 8 + 2.4 * dist + 6 * np.exp(-((hour - 18) ** 2) / 6) + 5 * rain + 10 * load
minutes = mean + rng.gamma(2.0, 1.0 + 1.5 * load, n)
X = np.c_[dist / 12, np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), rain, load].astype("float32")
mu, sd = minutes[:4800].mean(), minutes[:4800].std()
t = ((minutes - mu) / sd).astype("float32")
train = TensorDataset(torch.from_numpy(X[:4800]), torch.from_numpy(t[:4800]))
valid = TensorDataset(torch.from_numpy(X[4800:]), torch.from_numpy(t[4800:]))


class QuantileNet(L.LightningModule):
    def __init__(self, q=0.9, lr=3e-3):
        super().__init__()
        self.q, self.lr = q, lr
        self.net = nn.Sequential(nn.Linear(5, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)

    def pinball(self, pred, target):
        e = target - pred
        return torch.maximum(self.q * e, (self.q - 1) * e).mean()

    def training_step(self, batch, i):
        x, y = batch
        loss = self.pinball(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_loss", self.pinball(self(x), y))

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch:2d} train {m['train_loss']:.4f} val {m.get('val_loss', float('nan')):.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


model = QuantileNet()
trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(train, 64, shuffle=True), DataLoader(valid, 256))

model.eval()
with torch.no_grad():
    promise = model(torch.from_numpy(X[4800:])).squeeze(1).numpy() * sd + mu
real = minutes[4800:]
d = real - promise
print("coverage %.3f (wanted 0.90)" % (d <= 0).mean())
print("held-out pinball loss in minutes: %.3f" % np.maximum(0.9 * d, -0.1 * d).mean())
