"""Implicit-feedback style rating model in Lightning: biases + factors, early stopping, restore the best weights."""
import argparse
import logging
import tempfile
import warnings
import numpy as np
import torch
import torch.nn as nn
import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def ratings(n_users=300, n_items=200, n=24000, k=4, seed=0):
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(n_users, k)) * 0.6, rng.normal(size=(n_items, k)) * 0.6
    bu, bi = rng.normal(size=n_users) * 0.4, rng.normal(size=n_items) * 0.5
    flat = rng.permutation(n_users * n_items)[:n]
    u, i = flat // n_items, flat % n_items
    r = 3.4 + bu[u] + bi[i] + (p[u] * q[i]).sum(1) + 0.4 * rng.normal(size=n)
    return torch.tensor(u), torch.tensor(i), torch.tensor(np.clip(np.round(r * 2) / 2, 0.5, 5), dtype=torch.float32)


class MF(L.LightningModule):
    def __init__(self, n_users, n_items, mean, dim=8, lr=5e-3, decay=2e-2):
        super().__init__()
        self.save_hyperparameters()
        self.pu, self.qi = nn.Embedding(n_users, dim), nn.Embedding(n_items, dim)
        self.bu, self.bi = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        for e in (self.pu, self.qi):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bi):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        inter = (self.pu(u) * self.qi(i)).sum(1)
        return self.hparams.mean + self.bu(u)[:, 0] + self.bi(i)[:, 0] + inter

    def training_step(self, batch, _):
        u, i, r = batch
        mse = (self(u, i) - r).pow(2).mean()
        reg = self.pu(u).pow(2).sum(1).mean() + self.qi(i).pow(2).sum(1).mean()
        self.log("train_rmse", mse.sqrt(), on_epoch=True, on_step=False)
        return mse + self.hparams.decay * reg

    def validation_step(self, batch, _):
        u, i, r = batch
        self.log("val_rmse", (self(u, i).clamp(0.5, 5) - r).pow(2).mean().sqrt())

    def on_train_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} train {m['train_rmse']:.4f} val {m['val_rmse']:.4f}")

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=1)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sch, "monitor": "val_rmse"}}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch-size", type=int, default=512)
    args = ap.parse_args()
    L.seed_everything(0, verbose=False)
    u, i, r = ratings()
    tr, va, te = slice(0, 18000), slice(18000, 21000), slice(21000, None)
    model = MF(300, 200, r[tr].mean().item())
    dl = lambda s, sh: DataLoader(TensorDataset(u[s], i[s], r[s]), batch_size=args.batch_size if sh else 3000, shuffle=sh)
    with tempfile.TemporaryDirectory() as tmp:
        ck = ModelCheckpoint(tmp, monitor="val_rmse", mode="min", save_top_k=1)
        trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_progress_bar=False,
                            enable_model_summary=False, callbacks=[ck, EarlyStopping("val_rmse", patience=4)])
        trainer.fit(model, dl(tr, True), dl(va, False))
        best = MF.load_from_checkpoint(ck.best_model_path).eval()
    with torch.no_grad():
        rmse = (best(u[te], i[te]).clamp(0.5, 5) - r[te]).pow(2).mean().sqrt()
    print(f"best {ck.best_model_score:.4f} test rmse {rmse:.4f} (std of the ratings {r[te].std():.4f})")


if __name__ == "__main__":
    main()
