# BYOL on digits: online net + predictor against a slow (EMA) target without gradients; no negatives
import copy, warnings
warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning.pytorch as pl
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch.utils.data import DataLoader

pl.seed_everything(7, verbose=False)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


def augment(x):
    x = x.view(-1, 8, 8)
    keep = torch.rand_like(x) > 0.25
    gain = 0.8 + 0.4 * torch.rand(len(x), 1, 1)
    return (x * keep * gain + 0.1 * torch.randn_like(x)).flatten(1)


class BYOL(pl.LightningModule):
    def __init__(self, tau=0.98):
        super().__init__()
        self.online = nn.Sequential(mlp(64, 128, 64), mlp(64, 128, 32))
        self.target = copy.deepcopy(self.online)
        self.target.requires_grad_(False)
        self.predictor = mlp(32, 64, 32)
        self.tau = tau

    def loss(self, a, b):
        p = F.normalize(self.predictor(self.online(a)), dim=1)
        with torch.no_grad():
            z = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (p * z).sum(1).mean()

    def training_step(self, x, i):
        a, b = augment(x), augment(x)
        return self.loss(a, b) + self.loss(b, a)

    def on_train_batch_end(self, outputs, batch, batch_idx):
        with torch.no_grad():
            for po, pt in zip(self.online.parameters(), self.target.parameters()):
                pt.mul_(self.tau).add_(po, alpha=1 - self.tau)
        self.last = outputs["loss"].item()

    def on_train_epoch_end(self):
        if self.current_epoch % 5 == 4:
            self.eval()
            with torch.no_grad():
                h = self.online[0](X).numpy()
            self.train()
            knn = KNeighborsClassifier(5).fit(h[:1400], y[:1400]).score(h[1400:], y[1400:])
            print(f"epoch {self.current_epoch} loss {self.last:.4f} feature std {h.std(0).mean():.3f} knn {knn:.3f}")

    def configure_optimizers(self):
        return torch.optim.AdamW([*self.online.parameters(), *self.predictor.parameters()], lr=1e-3, weight_decay=1e-4)


d = load_digits()
X, y = torch.tensor(d.data / 16, dtype=torch.float32), d.target
trainer = pl.Trainer(max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(BYOL(), DataLoader(X[:1400], batch_size=100, shuffle=True, drop_last=True))
