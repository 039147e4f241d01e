"""Autoencoder for anomaly detection on sensor readings (Lightning)."""
import argparse
import logging
import warnings
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import lightning as L
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Sensors(L.LightningDataModule):
    def __init__(self, n=4000, dim=24, latent=4, seed=0, batch_size=64):
        super().__init__()
        rng = np.random.default_rng(seed)
        w1 = rng.normal(size=(latent, dim))
        w2 = rng.normal(size=(latent, dim)) * 0.5
        def normal(k):
            z = rng.normal(size=(k, latent))
            return 20 + 5 * (z @ w1 + np.tanh(z) @ w2 + 0.1 * rng.normal(size=(k, dim)))
        train, good, bad = normal(n), normal(600), normal(200)
        for row in bad:
            k = rng.choice(dim, 2, replace=False)
            row[k] += rng.choice([-1, 1], 2) * rng.uniform(3, 6, 2)
        sc = StandardScaler().fit(train)
        self.train = torch.tensor(sc.transform(train), dtype=torch.float32)
        self.test = torch.tensor(sc.transform(np.concatenate([good, bad])), dtype=torch.float32)
        self.test_y = np.r_[np.zeros(600), np.ones(200)]
        self.bs = batch_size

    def train_dataloader(self):
        return DataLoader(TensorDataset(self.train), batch_size=self.bs, shuffle=True)


class AutoEncoder(L.LightningModule):
    def __init__(self, dim, latent, lr):
        super().__init__()
        self.lr = lr
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, dim), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def score(self, x):
        return ((self(x) - x) ** 2).mean(1)

    def training_step(self, batch, _):
        x, = batch
        loss = F.mse_loss(self(x), x)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Report(L.Callback):
    def __init__(self, every):
        self.every = every

    def on_train_epoch_end(self, trainer, model):
        if (trainer.current_epoch + 1) % self.every:
            return
        dm = trainer.datamodule
        with torch.no_grad():
            s = model.score(dm.test).numpy()
        print(f"epoch {trainer.current_epoch+1} mse {trainer.callback_metrics['loss']:.4f} "
              f"auc {roc_auc_score(dm.test_y, s):.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--latent", type=int, default=6)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    L.seed_everything(0, verbose=False)
    dm = Sensors()
    model = AutoEncoder(dm.train.shape[1], args.latent, args.lr)
    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, callbacks=[Report(4)],
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, datamodule=dm)


if __name__ == "__main__":
    main()
