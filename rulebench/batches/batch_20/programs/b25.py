"""Wine cultivar-like tabular classification with Lightning."""
import logging
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class TabularData(L.LightningDataModule):
    def __init__(self, batch_size: int = 64):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        X, y = make_classification(n_samples=2400, n_features=24, n_informative=10, n_redundant=4,
                                   n_classes=4, class_sep=1.3, random_state=5)
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=5, stratify=y)
        scaler = StandardScaler().fit(Xa)
        self.train_ds = self._pack(scaler.transform(Xa), ya)
        self.val_ds = self._pack(scaler.transform(Xb), yb)

    @staticmethod
    def _pack(X, y):
        return TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y))

    def train_dataloader(self):
        return DataLoader(self.train_ds, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_ds, batch_size=300)


class MLP(L.LightningModule):
    def __init__(self, width=64, lr=0.05, weight_decay=5e-4, momentum=0.9):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(24, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 4))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.log("val_loss", F.cross_entropy(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch}: " + "  ".join(f"{k} {float(v):.4f}" for k, v in sorted(m.items())))

    def configure_optimizers(self):
        hp = self.hparams
        return torch.optim.SGD(self.parameters(), hp.lr, hp.weight_decay, 0.0, hp.momentum)


if __name__ == "__main__":
    L.seed_everything(5)
    trainer = L.Trainer(max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(MLP(), TabularData())
