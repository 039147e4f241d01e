# house-price-like regression, log target standardised, error reported in money
import numpy as np
import torch
import lightning as L
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(3, verbose=False)
rng = np.random.default_rng(3)
n = 2500
area, age, dist = rng.uniform(40, 220, n), rng.uniform(0, 80, n), rng.exponential(8, n)
price = 1500 * area * np.exp(-0.004 * age - 0.03 * dist + 0.08 * rng.normal(size=n)) + 20000
X = np.c_[area, age, dist].astype(np.float32)
t = np.log(price).astype(np.float32)
cut = 2000
X = (X - X[:cut].mean(0)) / X[:cut].std(0)
m, s = float(t[:cut].mean()), float(t[:cut].std())
ds = TensorDataset(torch.tensor(X), torch.tensor((t - m) / s)[:, None])
train, val = torch.utils.data.Subset(ds, range(cut)), torch.utils.data.Subset(ds, range(cut, n))


class Reg(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.huber_loss(self.net(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        money = lambda z: torch.exp(z * s + m)
        self.log("val_mae", (money(self.net(x)) - money(y)).abs().mean(), on_epoch=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-3)
        sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "interval": "step"}}


model = Reg()
trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0)
trainer.fit(model, DataLoader(train, batch_size=64, shuffle=True), DataLoader(val, batch_size=250))
print("val MAE %.0f" % trainer.callback_metrics["val_mae"].item())
print("MAE of the median guess %.0f" % np.abs(price[cut:] - np.median(price[:cut])).mean())
