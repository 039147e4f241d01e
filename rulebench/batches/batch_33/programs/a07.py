import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)

digits = load_digits()
X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
perm = torch.randperm(len(X))
x_train, x_test = X[perm[:1400]], X[perm[1400:]]


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.mu, self.lv = nn.Linear(64, z), nn.Linear(64, z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
        return self.dec(z), mu, lv


def elbo(logits, x, mu, lv):
    rec = F.binary_cross_entropy_with_logits(logits, x)
    kld = -0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(1).mean()
    return rec + kld, rec, kld


net = VAE()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(x_train), batch_size=64, shuffle=True)

for epoch in range(1, 101):
    net.train()
    s = torch.zeros(3)
    for (xb,) in loader:
        logits, mu, lv = net(xb)
        loss, rec, kld = elbo(logits, xb, mu, lv)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        s += torch.tensor([loss.item(), rec.item(), kld.item()])
    if epoch % 10 == 0:
        l, r, k = (s / len(loader)).tolist()
        print(f"epoch {epoch:3d}  loss {l:.4f}  rec {r:.4f}  kld {k:.4f}")

net.eval()
with torch.no_grad():
    mu = net.mu(net.enc(x_test))
    mse = F.mse_loss(torch.sigmoid(net.dec(mu)), x_test).item()
    base = x_test.var(0, unbiased=False).mean().item()
print(f"test reconstruction mse {mse:.4f} (pixel variance {base:.4f}), R2 {1 - mse / base:.3f}")
