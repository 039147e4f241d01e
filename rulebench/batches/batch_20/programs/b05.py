import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset
import logging, warnings
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class DigitsData(L.LightningDataModule):
    def __init__(self, batch_size=32):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage=None):
        X, y = load_digits(return_X_y=True)
        X = (X / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
        Xa, Xt, ya, yt = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
        Xa, Xv, ya, yv = train_test_split(Xa, ya, test_size=0.15, random_state=0, stratify=ya)
        mk = lambda a, b: TensorDataset(torch.tensor(a), torch.tensor(b))
        self.train, self.val, self.test = mk(Xa, ya), mk(Xv, yv), mk(Xt, yt)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=256)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=256)


class DigitNet(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 16, 10))
        self.history = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def _shared_eval(self, batch, name):
        x, y = batch
        logits = self(x)
        self.log(f"{name}_loss", F.cross_entropy(logits, y))
        self.log(f"{name}_acc", (logits.argmax(1) == y).float().mean())

    def validation_step(self, batch, batch_idx):
        self._shared_eval(batch, "val")

    def test_step(self, batch, batch_idx):
        self._shared_eval(batch, "test")

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch:2d}  train_loss {m['train_loss']:.4f}  "
              f"val_loss {m['val_loss']:.4f}  val_acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


if __name__ == "__main__":
    L.seed_everything(7)
    dm = DigitsData()
    model = DigitNet()
    ckpt = ModelCheckpoint(dirpath="/tmp/b05_ckpt", filename="best", monitor="val_acc",
                           save_top_k=1, enable_version_counter=False)
    trainer = L.Trainer(max_epochs=8, accelerator="cpu", callbacks=[ckpt], logger=False,
                        enable_progress_bar=False, enable_model_summary=False,
                        num_sanity_val_steps=0)
    trainer.fit(model, dm)
    best = DigitNet.load_from_checkpoint(ckpt.best_model_path)
    res = trainer.test(best, dm, verbose=False)[0]
    print("selected:", ckpt.best_model_path)
    print(f"test accuracy {res['test_acc']:.4f}  test loss {res['test_loss']:.4f}")
