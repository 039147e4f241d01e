import torch
import torch.nn as nn
import torch.nn.functional as F

# SimCLR-style pretraining on two noisy views, then a linear probe
torch.manual_seed(208)
proto = torch.randn(12, 32)


def view(y):
    return proto[y] + 0.9 * torch.randn(len(y), 32)


enc = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
proj = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))
opt = torch.optim.Adam(list(enc.parameters()) + list(proj.parameters()), lr=2e-3)
for step in range(600):
    y = torch.randint(0, 12, (96,))
    base = proto[y] + 0.4 * torch.randn(96, 32)
    v1, v2 = base + 0.5 * torch.randn(96, 32), base + 0.5 * torch.randn(96, 32)
    z = F.normalize(proj(enc(torch.cat([v1, v2]))), dim=1)
    sim = z @ z.T / 0.2
    sim.fill_diagonal_(float("-inf"))
    target = (torch.arange(192) + 96) % 192
    loss = F.cross_entropy(sim, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print("contrastive", step, loss.item())
for p in enc.parameters():
    p.requires_grad_(False)
enc.eval()
probe = nn.Linear(32, 12)
po = torch.optim.Adam(probe.parameters(), lr=1e-2)
for step in range(300):
    y = torch.randint(0, 12, (64,))
    loss = F.cross_entropy(probe(enc(view(y))), y)
    po.zero_grad()
    loss.backward()
    po.step()
    if step % 60 == 0:
        print("probe", step, loss.item())
y = torch.randint(0, 12, (1000,))
print("probe accuracy", (probe(enc(view(y))).argmax(1) == y).float().mean().item())
