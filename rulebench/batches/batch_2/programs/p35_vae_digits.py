"""VAE on sklearn digits."""
import torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits

torch.manual_seed(28)
X = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
X = X[torch.randperm(len(X))]
train, test = X[:1500], X[1500:]


class VAE(nn.Module):
    def __init__(self, z=8, h=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, h), nn.ReLU())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def elbo(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return rec + kld, rec, kld


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(1, 41):
    vae.train()
    s = torch.zeros(2)
    perm = torch.randperm(len(train))
    for idx in perm.split(50):
        x = train[idx]
        out, mu, lv = vae(x)
        loss, rec, kld = elbo(out, x, mu, lv)
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += torch.stack([rec.detach(), kld.detach()])
    if epoch % 5 == 0:
        s /= 30
        print(f"epoch {epoch:3d}  reconstruction {s[0]:.4f}  kl {s[1]:.4f}")

vae.eval()
with torch.no_grad():
    out, mu, lv = vae(test)
    print("test pixel mse", ((torch.sigmoid(out) - test) ** 2).mean().item())
    print("pixel variance around the mean image", ((train.mean(0) - test) ** 2).mean().item())
