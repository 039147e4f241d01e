import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset
import logging, warnings
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")

SEED = 42
L.seed_everything(SEED, verbose=False)


class TabularData(L.LightningDataModule):
    def __init__(self, batch_size=64):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        X, y = make_classification(4000, n_features=20, n_informative=8, n_redundant=4, n_classes=4,
                                   n_clusters_per_class=2, class_sep=1.3, random_state=SEED)
        Xa, Xte, ya, yte = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
        Xtr, Xva, ytr, yva = train_test_split(Xa, ya, test_size=0.2, stratify=ya, random_state=0)
        sc = StandardScaler().fit(Xtr)
        ds = lambda X, y: TensorDataset(torch.tensor(sc.transform(X), dtype=torch.float32), torch.tensor(y))
        self.train, self.val, self.test = ds(Xtr, ytr), ds(Xva, yva), ds(Xte, yte)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, 256)

    def test_dataloader(self):
        return DataLoader(self.test, 256)


class LitMLP(L.LightningModule):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(),
                                 nn.Linear(64, 4))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def _eval(self, batch, name):
        x, y = batch
        out = self(x)
        self.log(f"{name}_loss", F.cross_entropy(out, y))
        self.log(f"{name}_acc", (out.argmax(1) == y).float().mean())

    def validation_step(self, batch, _):
        self._eval(batch, "val")

    def test_step(self, batch, _):
        self._eval(batch, "test")

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        if not self.trainer.sanity_checking and self.current_epoch % 4 == 0:
            print(f"epoch {self.current_epoch}: val_loss {m['val_loss']:.3f} val_acc {m['val_acc']:.3f}")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=1e-3)
        sch = torch.optim.lr_scheduler.OneCycleLR(opt, self.hparams.lr,
                                                  total_steps=int(self.trainer.estimated_stepping_batches))
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "interval": "step"}}


dm, model = TabularData(), LitMLP()
trainer = L.Trainer(max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, dm)
r = trainer.test(model, dm, verbose=False)[0]
print(f"TEST loss {r['test_loss']:.4f} acc {r['test_acc']:.4f}")
