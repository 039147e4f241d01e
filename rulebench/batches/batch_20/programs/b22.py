"""Self-supervised pretraining in the BYOL way on synthetic sensor windows, then a linear probe."""
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
T, C = 64, 5


def windows(n):
    y = torch.randint(0, C, (n,))
    t = torch.linspace(0, 1, T)
    f = 2.0 + 2.0 * y[:, None]
    phase = 2 * math.pi * torch.rand(n, 1)
    amp = 0.7 + 0.6 * torch.rand(n, 1)
    x = amp * torch.sin(2 * math.pi * f * t + phase) + 0.8 * torch.randn(n, T)
    return x.unsqueeze(1), y


def augment(x):
    n = len(x)
    shift = torch.randint(0, T, (n, 1))
    idx = (torch.arange(T)[None] + shift) % T
    x = x.squeeze(1).gather(1, idx).unsqueeze(1)
    x = x * (0.6 + 0.8 * torch.rand(n, 1, 1))
    return x + 0.15 * torch.randn_like(x)


def encoder():
    return nn.Sequential(nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.BatchNorm1d(16), nn.ReLU(),
                         nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten())


def projector(d_in, d_out=32, h=64):
    return nn.Sequential(nn.Linear(d_in, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, d_out))


def regression(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=1).mean()


def probe(enc, steps=120):
    """Linear classifier on frozen features."""
    enc.eval()
    with torch.no_grad():
        htr, hte = enc(x_lab), enc(x_test)
    mu, sd = htr.mean(0), htr.std(0) + 1e-6
    htr, hte = (htr - mu) / sd, (hte - mu) / sd
    lin = nn.Linear(32, C)
    opt = torch.optim.Adam(lin.parameters(), lr=0.02)
    for _ in range(steps):
        loss = F.cross_entropy(lin(htr), y_lab)
        opt.zero_grad()
        loss.backward()
        opt.step()
    enc.train()
    return (lin(hte).argmax(1) == y_test).float().mean().item()


x_pre, _ = windows(2048)
x_lab, y_lab = windows(60)
x_test, y_test = windows(600)

online = nn.ModuleDict({"enc": encoder(), "proj": projector(32), "pred": projector(32)})
target = nn.ModuleDict({"enc": copy.deepcopy(online["enc"]), "proj": copy.deepcopy(online["proj"])})
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.AdamW(online.parameters(), lr=2e-3, weight_decay=1e-4)
total_steps, tau0 = 300, 0.97
print(f"probe before pretraining {probe(online['enc']):.3f}")
for step in range(1, total_steps + 1):
    x = x_pre[torch.randint(0, len(x_pre), (128,))]
    a, b = augment(x), augment(x)
    pa = online["pred"](online["proj"](online["enc"](a)))
    pb = online["pred"](online["proj"](online["enc"](b)))
    with torch.no_grad():
        za = target["proj"](target["enc"](a))
        zb = target["proj"](target["enc"](b))
    loss = 0.5 * (regression(pa, zb) + regression(pb, za))
    opt.zero_grad()
    loss.backward()
    opt.step()
    tau = 1 - (1 - tau0) * (math.cos(math.pi * step / total_steps) + 1) / 2
    with torch.no_grad():
        for name in ("enc", "proj"):
            for q, k in zip(online[name].parameters(), target[name].parameters()):
                k.mul_(tau).add_(q, alpha=1 - tau)
    if step % 50 == 0:
        with torch.no_grad():
            spread = F.normalize(za, dim=1).std(0).mean().item()
        print(f"step {step}: loss {loss.item():.4f}  spread {spread:.3f}  probe {probe(online['enc']):.3f}")
