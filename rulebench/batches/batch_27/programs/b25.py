# %% [markdown]
# VAE on the sklearn digits, 8x8.  Converted from notebook.
# %%
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(42)
X = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
X = X[torch.randperm(len(X))]
X_train, X_test = X[:1400], X[1400:]

# %%
class VAE(nn.Module):
    def __init__(self, d=64, h=128, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(),
                                 nn.Linear(h, d), nn.Sigmoid())

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo_terms(x, recon, mu, logvar):
    rec = F.binary_cross_entropy(recon, x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
    return rec, kl

# %%
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(60):
    perm = torch.randperm(len(X_train))
    total_rec = total_kl = n = 0
    for i in range(0, len(perm), 64):
        x = X_train[perm[i:i + 64]]
        recon, mu, logvar = vae(x)
        rec, kl = elbo_terms(x, recon, mu, logvar)
        loss = rec + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_rec, total_kl, n = total_rec + rec.item(), total_kl + kl.item(), n + 1
    if (epoch + 1) % 10 == 0:
        print(f"epoch {epoch+1:3d}  rec {total_rec/n:8.4f}  kl {total_kl/n:8.4f}")

# %%
vae.eval()
with torch.no_grad():
    h = vae.enc(X_test)
    mu = vae.mu(h)
    err = F.mse_loss(vae.dec(mu), X_test).item()
    base = F.mse_loss(X_train.mean(0).expand_as(X_test), X_test).item()
print(f"test reconstruction MSE {err:.4f}  (mean image: {base:.4f}, explained {1 - err/base:.2%})")
print("latent std over test set:", [round(v, 2) for v in mu.std(0).tolist()])
