import logging
import warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

import lightning as L
import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 42
L.seed_everything(SEED)


class FriedmanData(L.LightningDataModule):
    def setup(self, stage=None):
        X, y = make_friedman1(n_samples=4000, n_features=10, noise=0.5, random_state=SEED)
        sx = StandardScaler().fit(X[:2800])
        sy = StandardScaler().fit(y[:2800, None])
        X = torch.tensor(sx.transform(X), dtype=torch.float32)
        y = torch.tensor(sy.transform(y[:, None]), dtype=torch.float32)
        self.tr = TensorDataset(X[:2800], y[:2800])
        self.va = TensorDataset(X[2800:3400], y[2800:3400])
        self.te = TensorDataset(X[3400:], y[3400:])

    def train_dataloader(self):
        return DataLoader(self.tr, batch_size=64, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.va, batch_size=256)

    def test_dataloader(self):
        return DataLoader(self.te, batch_size=256)


class Regressor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def training_step(self, batch, idx):
        x, y = batch
        loss = F.mse_loss(self.net(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, idx):
        x, y = batch
        self.log("val_loss", F.mse_loss(self.net(x), y))

    def test_step(self, batch, idx):
        x, y = batch
        self.log("test_mse", F.mse_loss(self.net(x), y))

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if self.current_epoch % 5 == 0 and not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch} val {m['val_loss']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-3, weight_decay=1e-3)
        sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs)
        return [opt], [sch]


dm, model = FriedmanData(), Regressor()
trainer = L.Trainer(max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, dm)
res = trainer.test(model, dm, verbose=False)[0]
print("test R2 (standardised target): %.4f" % (1 - res["test_mse"]))
