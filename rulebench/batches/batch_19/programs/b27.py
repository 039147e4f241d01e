from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression


@dataclass
class Config:
    latent: int = 8
    hidden: int = 128
    epochs: int = 20
    batch: int = 64
    lr: float = 2e-3
    seed: int = 0


class VAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, cfg.hidden), nn.ReLU())
        self.mu = nn.Linear(cfg.hidden, cfg.latent)
        self.logvar = nn.Linear(cfg.hidden, cfg.latent)
        self.dec = nn.Sequential(
            nn.Linear(cfg.latent, cfg.hidden), nn.ReLU(),
            nn.Linear(cfg.hidden, 64), nn.Sigmoid(),
        )

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def loss_function(recon, x, mu, logvar):
    rec = F.binary_cross_entropy(recon, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return rec + kld, rec, kld


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    digits = load_digits()
    X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
    y = digits.target
    model = VAE(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(1, cfg.epochs + 1):
        model.train()
        order = torch.randperm(len(X))
        total = n = 0
        for i in range(0, len(X), cfg.batch):
            xb = X[order[i:i + cfg.batch]]
            recon, mu, logvar = model(xb)
            loss, rec, kld = loss_function(recon, xb, mu, logvar)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            n += 1
        if epoch % 2 == 0:
            print(f"epoch {epoch:3d}  loss {total / n:.4f}")

    model.eval()
    with torch.no_grad():
        mu = model.mu(model.enc(X))
        mse = F.mse_loss(model.dec(mu), X).item()
    codes = mu.numpy()
    clf = LogisticRegression(max_iter=500).fit(codes[:1200], y[:1200])
    print(f"reconstruction mse {mse:.4f} (variance of the data {X.var(0).mean():.4f})")
    print(f"linear probe accuracy on the codes {clf.score(codes[1200:], y[1200:]):.3f}")


if __name__ == "__main__":
    main()
