"""Lightning: train on digits 0-4, then reuse the features for 5-9.
The backbone stays frozen for the first epochs and is released later with a smaller lr."""
import logging
import warnings
import lightning as L
import numpy as np
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import BaseFinetuning
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
SEED = 11
L.seed_everything(SEED, verbose=False)


def backbone():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 32), nn.ReLU(),
    )


class Digits(L.LightningModule):
    def __init__(self, features, lr=3e-3):
        super().__init__()
        self.features = features
        self.head = nn.Linear(32, 5)
        self.lr = lr
        self.val = []

    def forward(self, x):
        return self.head(self.features(x))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def on_validation_epoch_start(self):
        self.val.clear()

    def validation_step(self, batch, _):
        x, y = batch
        self.val.append((self(x).argmax(1) == y).float())

    def on_validation_epoch_end(self):
        acc = torch.cat(self.val).mean()
        self.log("val_acc", acc)
        if not self.trainer.sanity_checking:
            print(f"epoch {self.current_epoch:2d} val_acc {acc:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam([p for p in self.parameters() if p.requires_grad], lr=self.lr)


class Unfreeze(BaseFinetuning):
    def __init__(self, at=6):
        super().__init__()
        self.at = at

    def freeze_before_training(self, pl_module):
        self.freeze(pl_module.features)

    def finetune_function(self, pl_module, epoch, optimizer):
        if epoch == self.at:
            self.unfreeze_and_add_param_group(pl_module.features, optimizer, lr=3e-4)


def loaders(mask, shift):
    d = load_digits()
    X = torch.tensor(d.images[mask] / 16.0, dtype=torch.float32)[:, None]
    y = torch.tensor(d.target[mask] - shift)
    Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=SEED, stratify=y)
    return (DataLoader(TensorDataset(Xa, ya), batch_size=32, shuffle=True),
            DataLoader(TensorDataset(Xb, yb), batch_size=256))


def fit(model, data, epochs, callbacks=()):
    tr = L.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                   enable_progress_bar=False, enable_model_summary=False,
                   callbacks=list(callbacks), num_sanity_val_steps=0, gradient_clip_val=1.0)
    tr.fit(model, *data)
    return float(tr.callback_metrics["val_acc"])


t = load_digits().target
src = Digits(backbone())
print("== source task")
a = fit(src, loaders(t < 5, 0), 6)
print("== target task")
dst = Digits(src.features)
b = fit(dst, loaders(t >= 5, 5), 12, [Unfreeze()])
print(f"source acc {a:.3f}  target acc {b:.3f}")
