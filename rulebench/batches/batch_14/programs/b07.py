"""Variational autoencoder on 8x8 digits."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, d_in, hidden, latent):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h)


class Decoder(nn.Module):
    def __init__(self, d_out, hidden, latent):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                  nn.Linear(hidden, d_out))

    def forward(self, z):
        return self.body(z)


class VAE(nn.Module):
    def __init__(self, d=64, hidden=128, latent=8):
        super().__init__()
        self.enc = Encoder(d, hidden, latent)
        self.dec = Decoder(d, hidden, latent)

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        mu, logvar = self.enc(x)
        z = self.reparameterize(mu, logvar)
        return self.dec(z), mu, logvar


def vae_loss(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return rec + kl, rec, kl


@torch.no_grad()
def report(model, x):
    model.eval()
    mu, logvar = model.enc(x)
    xr = torch.sigmoid(model.dec(mu))
    mse = F.mse_loss(xr, x).item()
    base = F.mse_loss(x.mean(0, keepdim=True).expand_as(x), x).item()
    return mse, base, mu.std(0).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--latent", type=int, default=8)
    ap.add_argument("--seed", type=int, default=0)
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
    perm = torch.randperm(len(x))
    train, test = x[perm[:1500]], x[perm[1500:]]
    loader = DataLoader(TensorDataset(train), batch_size=a.batch, shuffle=True, drop_last=True)
    model = VAE(latent=a.latent)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    for ep in range(a.epochs):
        model.train()
        stats = []
        for (xb,) in loader:
            logits, mu, logvar = model(xb)
            loss, rec, kl = vae_loss(logits, xb, mu, logvar)
            opt.zero_grad()
            loss.backward()
            opt.step()
            stats.append((loss.item(), rec.item(), kl.item()))
        if ep % 5 == 4:
            l, r, k = np.mean(stats, 0)
            mse, base, spread = report(model, test)
            print(f"epoch {ep + 1} loss {l:.4f} rec {r:.4f} kl {k:.4f} | test mse {mse:.4f} (mean image {base:.4f}) mu std {spread:.3f}")


if __name__ == "__main__":
    main()
