"""VAE on 8x8 digits."""
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    latent: int = 6
    hidden: int = 128
    epochs: int = 60
    batch: int = 64
    lr: float = 2e-3
    anneal_epochs: int = 30


class VAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU())
        self.mu = nn.Linear(cfg.hidden, cfg.latent)
        self.logvar = nn.Linear(cfg.hidden, cfg.latent)
        self.dec = nn.Sequential(nn.Linear(cfg.latent, cfg.hidden), nn.ReLU(),
                                 nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def terms(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = (-0.5 * (1 + logvar - mu.pow(2) - logvar.exp())).sum(1).mean()
    return rec, kl


cfg = Config()
torch.manual_seed(31)
X = torch.tensor(load_digits().data / 16, dtype=torch.float32)
X = X[torch.randperm(len(X))]
train, test = X[:1500], X[1500:]
vae = VAE(cfg)
opt = torch.optim.Adam(vae.parameters(), lr=cfg.lr)

for epoch in range(cfg.epochs):
    beta = min(1.0, epoch / cfg.anneal_epochs)
    vae.train()
    tot = 0.0
    for idx in torch.randperm(len(train)).split(cfg.batch):
        x = train[idx]
        logits, mu, logvar = vae(x)
        rec, kl = terms(logits, x, mu, logvar)
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    if epoch % 5 == 4:
        vae.eval()
        with torch.no_grad():
            logits, mu, logvar = vae(test)
            rec, kl = terms(logits, test, mu, logvar)
        print(f"epoch {epoch + 1} beta {beta:.2f} train objective {tot / len(train):.3f} "
              f"test rec {rec:.3f} kl {kl:.3f} elbo {-(rec + kl):.3f}")
