import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
data = torch.tensor(load_digits().data, dtype=torch.float32) / 16
perm = torch.randperm(len(data))
train, test = data[perm[:1500]], data[perm[1500:]]


class VAE(nn.Module):
    def __init__(self, zdim=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mu = nn.Linear(128, zdim)
        self.logvar = nn.Linear(128, zdim)
        self.dec = nn.Sequential(nn.Linear(zdim, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid())

    def encode(self, x):
        h = self.enc(x)
        return self.mu(h), self.logvar(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    # reconstruction term + KL divergence to N(0, I)
    bce = F.binary_cross_entropy(recon_x, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1).mean()
    return bce + kld, bce, kld


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(60):
    model.train()
    idx = torch.randperm(len(train))
    tot = tb = tk = 0.0
    for i in range(0, len(train), 64):
        x = train[idx[i:i + 64]]
        out, mu, logvar = model(x)
        loss, b, k = loss_function(out, x, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(x); tb += b.item() * len(x); tk += k.item() * len(x)
    if epoch % 10 == 9:
        n = len(train)
        print(f"====> Epoch {epoch + 1}: loss {tot / n:.4f} (rec {tb / n:.4f}, kl {tk / n:.4f})")

model.eval()
with torch.no_grad():
    mu, _ = model.encode(test)
    rec = model.dec(mu)
    mse = F.mse_loss(rec, test).item()
    base = F.mse_loss(train.mean(0).expand_as(test), test).item()
print(f"test reconstruction MSE {mse:.4f}   (mean image: {base:.4f})")
