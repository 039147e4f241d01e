"""Two-phase transfer: pretrain on rotated digits, then train a new head and unfreeze later (Lightning callback)."""
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.pytorch.callbacks import BaseFinetuning
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class Backbone(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())


class Classifier(L.LightningModule):
    def __init__(self, backbone, n_classes, lr):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(128, n_classes)
        self.lr = lr

    def forward(self, x):
        return self.head(self.backbone(x))

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("acc", (self(x).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        trainable = sum(p.numel() for p in self.parameters() if p.requires_grad)
        print(f"epoch {self.current_epoch} loss {m['loss']:.4f} acc {m['acc']:.4f} trainable {trainable}")

    def configure_optimizers(self):
        return torch.optim.Adam([p for p in self.parameters() if p.requires_grad], lr=self.lr)


class UnfreezeAt(BaseFinetuning):
    def __init__(self, epoch, lr):
        super().__init__()
        self.epoch, self.backbone_lr = epoch, lr

    def freeze_before_training(self, pl_module):
        self.freeze(pl_module.backbone)

    def finetune_function(self, pl_module, epoch, optimizer):
        if epoch == self.epoch:
            self.unfreeze_and_add_param_group(pl_module.backbone, optimizer, lr=self.backbone_lr)


def make_trainer(epochs, callbacks=None):
    return L.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks)


def main():
    L.seed_everything(3, verbose=False)
    x = torch.tensor(load_digits().images / 16.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(load_digits().target)
    perm = torch.randperm(len(x))
    pre, tr, te = perm[:900], perm[900:1300], perm[1300:]

    rot = torch.tensor(np.random.default_rng(0).integers(0, 4, len(pre)))
    x_rot = torch.stack([torch.rot90(img, int(k), (1, 2)) for img, k in zip(x[pre], rot)])
    backbone = Backbone()
    print("self-supervised rotation task")
    pretext = Classifier(backbone, 4, lr=3e-3)
    loader = DataLoader(TensorDataset(x_rot, rot), batch_size=32, shuffle=True)
    make_trainer(8).fit(pretext, loader, DataLoader(TensorDataset(x_rot, rot), batch_size=450))

    print("digit classification")
    model = Classifier(backbone, 10, lr=1e-2)
    train_loader = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=16, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[te], y[te]), batch_size=500)
    make_trainer(12, [UnfreezeAt(5, 1e-3)]).fit(model, train_loader, val_loader)


if __name__ == "__main__":
    main()
