"""Small VAE on the 8x8 digits, then a look at what the latent code knows."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(3)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = d.target
train_dl = DataLoader(TensorDataset(X[:1500]), batch_size=64, shuffle=True)


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mu = nn.Linear(128, z)
        self.logvar = nn.Linear(128, z)
        self.dec = nn.Sequential(nn.Linear(z, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def loss_function(recon, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(recon, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return rec + kld, rec, kld


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(40):
    tot = torch.zeros(3)
    for (xb,) in train_dl:
        recon, mu, logvar = vae(xb)
        loss, rec, kld = loss_function(recon, xb, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += torch.stack([loss, rec, kld]).detach()
    tot /= len(train_dl)
    if epoch % 5 == 4:
        print("epoch %d loss %.4f rec %.4f kld %.4f" % (epoch + 1, *tot.tolist()))

with torch.no_grad():
    recon, mu, _ = vae(X)
    mse = (torch.sigmoid(recon[1500:]) - X[1500:]).pow(2).mean().item()
clf = LogisticRegression(max_iter=2000).fit(mu[:1500].numpy(), y[:1500])
print("test reconstruction mse %.4f" % mse)
print("digit accuracy from latent mean: %.3f" % clf.score(mu[1500:].numpy(), y[1500:]))
