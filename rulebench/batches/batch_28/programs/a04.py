import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

SEED = 0
torch.manual_seed(SEED)

x = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
perm = torch.randperm(len(x))
train, test = x[perm[:1500]], x[perm[1500:]]
loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)


class VAE(nn.Module):
    def __init__(self, d=64, h=128, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.mu = nn.Linear(h, z)
        self.logvar = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, d), nn.Sigmoid())

    def encode(self, x):
        h = self.enc(x)
        return self.mu(h), self.logvar(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld, bce, kld


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(60):
    model.train()
    tot = tb = tk = 0.0
    for (xb,) in loader:
        recon, mu, logvar = model(xb)
        loss, bce, kld = loss_function(recon, xb, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item(); tb += bce.item(); tk += kld.item()
    if epoch % 10 == 9:
        n = len(loader)
        print(f"====> epoch {epoch + 1}: loss {tot / n:.4f}  bce {tb / n:.4f}  kld {tk / n:.5f}")

model.eval()
with torch.no_grad():
    mu, _ = model.encode(test)
    rec = model.dec(mu)
    mse = F.mse_loss(rec, test).item()
    base = F.mse_loss(train.mean(0).expand_as(test), test).item()
print(f"test reconstruction mse {mse:.4f} (predicting the mean image: {base:.4f})")
