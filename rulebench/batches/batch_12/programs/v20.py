import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

# FixMatch-like pseudo labels, 100 labelled digits
torch.manual_seed(0)
x, y = load_digits(return_X_y=True)
x, y = torch.tensor(x / 16).float(), torch.tensor(y)
p = torch.randperm(len(x))
lab, unl, te = p[:100], p[100:1300], p[1300:]


def weak(v):
    return v + 0.03 * torch.randn_like(v)


def strong(v):
    return (v + 0.15 * torch.randn_like(v)) * (torch.rand_like(v) > 0.2)


net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(1500):
    i = lab[torch.randint(100, (32,))]
    j = unl[torch.randint(1200, (96,))]
    with torch.no_grad():
        conf, pseudo = F.softmax(net(weak(x[j])), 1).max(1)
    mask = (conf > 0.95).float()
    sup = F.cross_entropy(net(weak(x[i])), y[i])
    uns = (F.cross_entropy(net(strong(x[j])), pseudo, reduction="none") * mask).mean()
    loss = sup + uns
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 150 == 0:
        with torch.no_grad():
            acc = (net(x[te]).argmax(1) == y[te]).float().mean().item()
        print(step, f"sup {sup.item():.3f} uns {uns.item():.3f} used {mask.mean().item():.2f} test {acc:.3f}")
