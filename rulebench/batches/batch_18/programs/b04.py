"""Autoencoder anomaly detection on machine-like sensor windows. Only windows of normal operation are used to fit."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, roc_auc_score
from torch.utils.data import DataLoader, TensorDataset


def normal_windows(n, rng, length=64):
    t = np.arange(length)
    f = rng.uniform(0.05, 0.08, (n, 1))
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    amp = rng.uniform(0.8, 1.2, (n, 1))
    return amp * np.sin(2 * np.pi * f * t + ph) + 0.1 * rng.normal(size=(n, length))


def anomalous_windows(n, rng, length=64):
    w = normal_windows(n, rng, length)
    kinds = rng.integers(0, 3, n)
    for i, k in enumerate(kinds):
        p = rng.integers(10, length - 20)
        if k == 0:
            w[i, p:p + 3] += rng.choice([-1, 1]) * 0.8
        elif k == 1:
            w[i, p:p + 15] = w[i, p]
        else:
            w[i] += 0.2 * np.sin(2 * np.pi * 0.25 * np.arange(length))
    return w


class AutoEncoder(nn.Module):
    def __init__(self, length=64, latent=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(length, 64), nn.GELU(), nn.Linear(64, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.GELU(), nn.Linear(64, length))

    def forward(self, x):
        return self.decoder(self.encoder(x))


@torch.no_grad()
def scores(model, x):
    model.eval()
    return (model(x) - x).pow(2).mean(1).numpy()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)

    train = normal_windows(2000, rng)
    val = normal_windows(400, rng)
    test = np.concatenate([normal_windows(450, rng), anomalous_windows(50, rng)])
    labels = np.r_[np.zeros(450), np.ones(50)]
    mean, std = train.mean(), train.std()
    train, val, test = (torch.tensor((a - mean) / std, dtype=torch.float32) for a in (train, val, test))

    model = AutoEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True, drop_last=True)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for (x,) in loader:
            loss = nn.functional.mse_loss(model(x), x)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.item()
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1} train mse {total / len(loader):.4f} val mse {scores(model, val).mean():.4f}")

    s = scores(model, test)
    threshold = np.quantile(scores(model, val), 0.98)
    flagged = s > threshold
    print(f"AUROC {roc_auc_score(labels, s):.3f}  AP {average_precision_score(labels, s):.3f}")
    print(f"threshold {threshold:.4f}  recall {flagged[labels == 1].mean():.2f}  false alarms {flagged[labels == 0].mean():.3f}")


if __name__ == "__main__":
    main()
