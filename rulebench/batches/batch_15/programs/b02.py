import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
x = x[torch.randperm(len(x))]
train, test = x[:1500], x[1500:]


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.mu = nn.Linear(64, z)
        self.logvar = nn.Linear(64, z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
    kld = -0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp()) / len(x)
    return bce - kld, bce, kld


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(20):
    perm = torch.randperm(len(train))
    for i in range(0, len(train), 50):
        xb = train[perm[i:i + 50]]
        recon, mu, logvar = vae(xb)
        loss, bce, kld = loss_function(recon, xb, mu, logvar)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(vae.parameters(), 5.0)
        opt.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {loss.item():.3f} bce {bce.item():.3f} kld {kld.item():.3f}")

with torch.no_grad():
    r, mu, lv = vae(test)
    print("test bce", loss_function(r, test, mu, lv)[1].item())
    samples = torch.sigmoid(vae.dec(torch.randn(200, 8)))
    d = torch.cdist(samples, train).min(1).values
    print("mean distance of a sample to its nearest digit", d.mean().item())
