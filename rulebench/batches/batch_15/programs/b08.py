"""Transfer: pretrain a conv net on digits 0-4, freeze the backbone, train a new head on digits 5-9."""
import logging
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def loaders(low):
    d = load_digits()
    x = torch.tensor(d.images / 8.0 - 1.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target)
    keep = (y < 5) if low else (y >= 5)
    x, y = x[keep], y[keep] - (0 if low else 5)
    p = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = x[p], y[p]
    n = int(0.7 * len(x))
    return DataLoader(TensorDataset(x[:n], y[:n]), 32, shuffle=True), DataLoader(TensorDataset(x[n:], y[n:]), 256)


def backbone():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten())


class Base(L.LightningModule):
    def __init__(self, features, lr, frozen):
        super().__init__()
        self.features = features
        self.head = nn.Linear(64 * 16, 5)
        self.lr = lr
        self.frozen = frozen
        if frozen:
            self.features.requires_grad_(False)

    def on_train_epoch_start(self):
        if self.frozen:
            self.features.eval()

    def forward(self, x):
        return self.head(self.features(x))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y, label_smoothing=0.05)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_acc", (self(x).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"  epoch {self.current_epoch} train {m['train_loss']:.4f} val acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW([p for p in self.parameters() if p.requires_grad], lr=self.lr)


def fit(module, dls, epochs):
    L.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
              enable_progress_bar=False, enable_model_summary=False).fit(module, *dls)


if __name__ == "__main__":
    L.seed_everything(3)
    net = backbone()
    print("pretraining on 0-4")
    fit(Base(net, 1e-3, False), loaders(True), 4)
    print("linear probe on 5-9")
    fit(Base(net, 1e-3, True), loaders(False), 8)
