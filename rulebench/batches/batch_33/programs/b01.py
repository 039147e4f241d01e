"""Ternary-weight digit classifier with a straight-through estimator (for a microcontroller)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)


class Ternarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        delta = 0.7 * w.abs().mean()
        mask = (w.abs() > delta).float()
        scale = (w.abs() * mask).sum() / mask.sum().clamp(min=1)
        return scale * mask * w.sign()

    @staticmethod
    def backward(ctx, g):
        return g


class TernaryLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, Ternarize.apply(self.weight), self.bias)


X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
Xtr, Xte = (torch.tensor(a / 8.0 - 1.0, dtype=torch.float32) for a in (Xtr, Xte))
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

net = nn.Sequential(TernaryLinear(64, 128), nn.BatchNorm1d(128), nn.Hardtanh(),
                    TernaryLinear(128, 64), nn.BatchNorm1d(64), nn.Hardtanh(),
                    TernaryLinear(64, 10))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=60)

for epoch in range(60):
    net.train()
    total = 0
    for idx in torch.randperm(len(Xtr)).split(64):
        if len(idx) < 2:
            continue
        loss = F.cross_entropy(net(Xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for m in net:
                if isinstance(m, TernaryLinear):
                    m.weight.clamp_(-1, 1)      # keep the latent weights in range
        total += loss.item() * len(idx)
    sched.step()
    if epoch % 10 == 0 or epoch == 59:
        print(f"epoch {epoch} loss {total / len(Xtr):.4f} lr {sched.get_last_lr()[0]:.5f}")

net.eval()
with torch.no_grad():
    acc = (net(Xte).argmax(1) == yte).float().mean().item()
    zeros = [float((Ternarize.apply(m.weight) == 0).float().mean()) for m in net if isinstance(m, TernaryLinear)]
print("share of zero weights per layer:", [round(z, 2) for z in zeros])
print(f"test accuracy with ternary weights: {acc:.4f}")
