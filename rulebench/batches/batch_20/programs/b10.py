"""VAE on the 8x8 digits with a KL weight that is raised during the first epochs."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
perm = torch.randperm(len(X))
train, test = X[perm[:1500]], X[perm[1500:]]
loader = DataLoader(TensorDataset(train), batch_size=50, shuffle=True)

LATENT = 6
EPOCHS = 50
WARMUP = 25


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.mu = nn.Linear(64, LATENT)
        self.logvar = nn.Linear(64, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(),
                                 nn.Linear(128, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        return self.dec(z), mu, logvar


def terms(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec, kl


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, EPOCHS + 1):
    beta = min(1.0, epoch / WARMUP)
    model.train()
    tot = rec_sum = kl_sum = 0.0
    for (x,) in loader:
        logits, mu, logvar = model(x)
        rec, kl = terms(logits, x, mu, logvar)
        loss = rec + beta * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tot += loss.item()
        rec_sum += rec.item()
        kl_sum += kl.item()
    if epoch % 5 == 0:
        k = len(loader)
        print(f"epoch {epoch} beta {beta:.2f} loss {tot / k:.2f} rec {rec_sum / k:.2f} kl {kl_sum / k:.2f}")

model.eval()
with torch.no_grad():
    logits, mu, logvar = model(test)
    rec, kl = terms(logits, test, mu, logvar)
    mse = F.mse_loss(torch.sigmoid(logits), test)
    base = F.mse_loss(train.mean(0).expand_as(test), test)
    active = (mu.var(0) > 0.05).sum().item()
print(f"test rec {rec:.2f} kl {kl:.2f} mse {mse:.4f} (mean image {base:.4f})  active dims {active}/{LATENT}")
