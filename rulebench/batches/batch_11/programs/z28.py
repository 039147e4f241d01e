"""Siamese metric learning in Lightning with gradient accumulation and weight averaging."""
import logging
import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from lightning.pytorch.callbacks import StochasticWeightAveraging
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Pairs(Dataset):
    def __init__(self, x, y, n, seed):
        self.x, self.y = x, y
        r = np.random.default_rng(seed)
        by = [np.where(y == c)[0] for c in range(10)]
        a = r.integers(len(y), size=n)
        same = r.random(n) < 0.5
        b = [r.choice(by[y[i]]) if s else r.choice(np.where(y != y[i])[0]) for i, s in zip(a, same)]
        self.pairs = list(zip(a.tolist(), [int(i) for i in b], same.astype(np.float32).tolist()))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b, s = self.pairs[i]
        return self.x[a], self.x[b], np.float32(s)


class Siamese(L.LightningModule):
    def __init__(self, dim=16, margin=1.0, gallery=None, queries=None):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, dim))
        self.margin, self.gallery, self.queries = margin, gallery, queries

    def embed(self, x):
        return F.normalize(self.net(x), dim=1)

    def training_step(self, batch, i):
        a, b, same = batch
        d = (self.embed(a) - self.embed(b)).pow(2).sum(1).add(1e-9).sqrt()
        loss = (same * d ** 2 + (1 - same) * F.relu(self.margin - d) ** 2).mean()
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def retrieval(self):
        (gx, gy), (qx, qy) = self.gallery, self.queries
        with torch.no_grad():
            nn_idx = torch.cdist(self.embed(qx), self.embed(gx)).argmin(1)
        return (gy[nn_idx] == qy).float().mean().item()

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch} loss {float(self.trainer.callback_metrics['loss']):.4f} 1-NN accuracy {self.retrieval():.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def main():
    L.seed_everything(7)
    d = load_digits()
    p = np.random.default_rng(0).permutation(len(d.target))
    x, y = (d.data[p] / 16.0).astype(np.float32), d.target[p]
    gallery = (torch.from_numpy(x[:100]), torch.from_numpy(y[:100]))
    queries = (torch.from_numpy(x[1200:]), torch.from_numpy(y[1200:]))
    model = Siamese(gallery=gallery, queries=queries)
    print(f"untrained 1-NN accuracy {model.retrieval():.4f}")
    trainer = L.Trainer(max_epochs=10, accelerator="cpu", logger=False, enable_checkpointing=False, accumulate_grad_batches=2,
                        gradient_clip_val=1.0, callbacks=[StochasticWeightAveraging(swa_lrs=1e-3, swa_epoch_start=7)],
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DataLoader(Pairs(x[:1200], y[:1200], 4000, 1), 32, shuffle=True))
    print(f"final 1-NN accuracy {model.retrieval():.4f}")


if __name__ == "__main__":
    main()
