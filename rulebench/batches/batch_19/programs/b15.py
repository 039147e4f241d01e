"""Pretrain a small backbone on rotation prediction, then fine-tune it on digit classes."""
import logging
import warnings
import lightning as L
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(5)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target)
order = torch.from_numpy(np.random.default_rng(5).permutation(len(labels)))
train_ids, val_ids = order[:900], order[900:]


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )


def pretrain(backbone, steps=150):
    head = nn.Linear(16, 4)
    opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=2e-3)
    for _ in range(steps):
        idx = train_ids[torch.randint(len(train_ids), (64,))]
        k = torch.randint(4, (64,))
        x = torch.stack([torch.rot90(images[i], int(r), (1, 2)) for i, r in zip(idx, k)])
        loss = F.cross_entropy(head(backbone(x)), k)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"rotation loss after pretraining {loss.item():.3f}")
    return backbone


class FineTuner(L.LightningModule):
    def __init__(self, backbone, lr=3e-3, unfreeze_at=5):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(16, 10)
        self.lr = lr
        self.unfreeze_at = unfreeze_at
        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.head(self.backbone(x))

    def on_train_epoch_start(self):
        if self.current_epoch == self.unfreeze_at:
            print("unfreezing the backbone")
            for p in self.backbone.parameters():
                p.requires_grad = True

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("acc", (self(x).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        if self.current_epoch % 3 == 0:
            print(f"epoch {self.current_epoch:2d} loss {m['loss']:.3f} val acc {m['acc']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(filter(lambda p: p.requires_grad, self.parameters()), lr=self.lr)


train_loader = DataLoader(TensorDataset(images[train_ids], labels[train_ids]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(images[val_ids], labels[val_ids]), batch_size=300)
module = FineTuner(pretrain(make_backbone()))
trainer = L.Trainer(max_epochs=16, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(module, train_loader, val_loader)
print("final val acc", float(trainer.callback_metrics["acc"]))
