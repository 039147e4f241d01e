# Four-class tabular problem with a LightningDataModule
import warnings
import logging
import numpy as np
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(7, verbose=False)


class TableData(L.LightningDataModule):
    def __init__(self, batch_size=32):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        X, y = make_classification(n_samples=3000, n_features=20, n_informative=10, n_redundant=2, n_classes=4,
                                   n_clusters_per_class=2, class_sep=1.6, flip_y=0.01, random_state=0)
        X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        scaler = StandardScaler().fit(X_tr)
        as_ds = lambda X, y: TensorDataset(torch.tensor(scaler.transform(X), dtype=torch.float32), torch.tensor(y))
        self.train_ds, self.test_ds = as_ds(X_tr, y_tr), as_ds(X_te, y_te)

    def train_dataloader(self):
        return DataLoader(self.train_ds, batch_size=self.batch_size, shuffle=True)

    def test_dataloader(self):
        return DataLoader(self.test_ds, batch_size=256)


class Classifier(L.LightningModule):
    def __init__(self, d_in=20, n_classes=4, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(d_in, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, n_classes))
        self.loss_fn = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def _step(self, batch, name):
        x, y = batch
        logits = self(x)
        loss = self.loss_fn(logits, y)
        acc = (logits.argmax(1) == y).float().mean()
        self.log_dict({f"{name}_loss": loss, f"{name}_acc": acc}, on_step=False, on_epoch=True, batch_size=len(x))
        return loss

    def training_step(self, batch, batch_idx):
        return self._step(batch, "train")

    def test_step(self, batch, batch_idx):
        self._step(batch, "test")

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch + 1}: loss {m['train_loss']:.4f} acc {m['train_acc']:.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


dm = TableData()
model = Classifier()
trainer = L.Trainer(
    max_epochs=30,
    accelerator="cpu",
    overfit_batches=5,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, datamodule=dm)
print("optimizer steps:", trainer.global_step)
res = L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False).test(model, datamodule=dm, verbose=False)
print(res)
