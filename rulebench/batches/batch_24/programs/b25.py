"""Transfer learning in Lightning: pretrain on eight digits, then reuse the frozen backbone for the two others."""
import logging
import warnings
import lightning as L
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(0, verbose=False)

d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(d.target)
source = y < 8
target_x, target_y = X[~source], y[~source] - 8
perm = torch.randperm(len(target_x))
few, rest = perm[:40], perm[40:]


def backbone():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())


class Classifier(L.LightningModule):
    def __init__(self, features, n_classes, freeze=False, lr=1e-3):
        super().__init__()
        self.features = features
        self.head = nn.Linear(128, n_classes)
        self.freeze_features = freeze
        self.lr = lr
        if freeze:
            self.features.requires_grad_(False)

    def on_train_epoch_start(self):
        if self.freeze_features:
            self.features.eval()

    def forward(self, x):
        return self.head(self.features(x))

    def training_step(self, batch, batch_idx):
        x, t = batch
        loss = F.cross_entropy(self(x), t)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, t = batch
        out = self(x)
        self.log_dict({"val_loss": F.cross_entropy(out, t), "val_acc": (out.argmax(1) == t).float().mean()})

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        if self.current_epoch % 6 == 5:
            print(f"  epoch {self.current_epoch + 1} train {m['train_loss']:.4f} val {m['val_loss']:.4f} acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW([p for p in self.parameters() if p.requires_grad], lr=self.lr)


def fit(model, train, val, epochs, bs):
    trainer = L.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DataLoader(train, batch_size=bs, shuffle=True), DataLoader(val, batch_size=256))
    return {k: round(v.item(), 4) for k, v in trainer.callback_metrics.items()}


sx, sy = X[source], y[source]
print("pretraining")
base = Classifier(backbone(), 8, lr=3e-3)
print(fit(base, TensorDataset(sx[:1200], sy[:1200]), TensorDataset(sx[1200:], sy[1200:]), 6, 64))

print("new task with 40 examples")
new = Classifier(base.features, 2, freeze=True, lr=1e-2)
print(fit(new, TensorDataset(target_x[few], target_y[few]), TensorDataset(target_x[rest], target_y[rest]), 24, 8))
