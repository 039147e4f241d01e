# VAE on 8x8 digits
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
data = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
train, test = data[:1500], data[1500:]


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mu = nn.Linear(128, z)
        self.logvar = nn.Linear(128, z)
        self.dec = nn.Sequential(nn.Linear(z, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid())

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def vae_loss(recon, x, mu, logvar, beta=0.2):
    rec = F.mse_loss(recon, x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return rec + beta * kl, rec, kl


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
base = ((test - train.mean(0)) ** 2).mean().item()
print("mse of always answering the mean image:", round(base, 4))
for epoch in range(40):
    model.train()
    perm = torch.randperm(len(train))
    kl_sum = 0.0
    for i in range(0, len(train), 64):
        x = train[perm[i:i + 64]]
        recon, mu, logvar = model(x)
        loss, rec, kl = vae_loss(recon, x, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        kl_sum += kl.item()
    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            recon, mu, _ = model(test)
        print(f"epoch {epoch + 1} loss {loss.item():.4f} kl {kl_sum / 24:.4f} "
              f"test mse {((recon - test) ** 2).mean().item():.4f} std of mu {mu.std(0).mean().item():.4f}")
