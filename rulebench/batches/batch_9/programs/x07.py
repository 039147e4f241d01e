import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(202)
X = torch.tensor(load_digits().data, dtype=torch.float32) / 16
X = X[torch.randperm(len(X))]

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(64, 64)
        self.mu, self.lv = nn.Linear(64, 8), nn.Linear(64, 8)
        self.dec = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp() if self.training else mu
        return self.dec(z), mu, lv

vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(30):
    beta = min(1.0, epoch / 10)      # warm-up of the KL term
    vae.train()
    rec_s = kl_s = 0
    for b in torch.randperm(1500).split(50):
        logits, mu, lv = vae(X[b])
        rec = F.binary_cross_entropy_with_logits(logits, X[b], reduction="sum") / len(b)
        kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()
        opt.zero_grad()
        (rec + beta * kl).backward()
        opt.step()
        rec_s += rec.item() / 30
        kl_s += kl.item() / 30
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} beta {beta:.1f} rec {rec_s:.2f} kl {kl_s:.2f}")
vae.eval()
with torch.no_grad():
    out = torch.sigmoid(vae(X[1500:])[0])
    print("test mse", F.mse_loss(out, X[1500:]).item(), "variance", X[1500:].var(0).mean().item())
