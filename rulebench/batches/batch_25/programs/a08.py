import lightning as L
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SalesData(L.LightningDataModule):
    """Daily sales of 20 shops: 28 days in, 7 days out."""

    def __init__(self, batch_size=64):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        if hasattr(self, "train"):
            return
        t = np.arange(500)
        X, Y, cut = [], [], []
        for _ in range(20):
            week = np.random.rand(7)
            s = week[t % 7] * 3 + np.sin(2 * np.pi * t / 90 + np.random.rand() * 6) + 0.2 * np.random.randn(500)
            s = (s - s[:380].mean()) / s[:380].std()
            for i in range(0, 500 - 35, 2):
                X.append(s[i:i + 28]); Y.append(s[i + 28:i + 35]); cut.append(i + 35)
        X, Y = (torch.tensor(np.array(a), dtype=torch.float32) for a in (X, Y))
        cut = torch.tensor(cut)
        start = cut - 35
        self.train = TensorDataset(X[cut <= 380], Y[cut <= 380])
        self.val = TensorDataset(X[start >= 352], Y[start >= 352])

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=256)


class Forecaster(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(28, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 7))

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.l1_loss(self.net(x), y)
        self.log("train_mae", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_mae", nn.functional.l1_loss(self.net(x), y))
        self.log("naive_mae", nn.functional.l1_loss(x[:, -7:], y))

    def on_validation_epoch_end(self):
        if self.current_epoch % 4 == 0 and not self.trainer.sanity_checking:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch}: val_mae {m['val_mae']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=2e-3)
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, 5e-3, total_steps=self.trainer.estimated_stepping_batches)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


if __name__ == "__main__":
    L.seed_everything(77)
    trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, gradient_clip_val=1.0)
    data, model = SalesData(), Forecaster()
    trainer.fit(model, datamodule=data)
    out = trainer.validate(model, datamodule=data, verbose=False)[0]
    print("val MAE %.4f   same weekday last week %.4f" % (out["val_mae"], out["naive_mae"]))
