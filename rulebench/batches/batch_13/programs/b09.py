# Semi-supervised two moons: 10 labels, then confident pseudo-labels with a ramped weight
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons

torch.manual_seed(4)
X, y = make_moons(1500, noise=0.08, random_state=2)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
X = (X - X[:1000].mean(0)) / X[:1000].std(0)
lab = torch.cat([(y[:1000] == c).nonzero().squeeze(1)[:5] for c in (0, 1)])
Xu = X[:1000]
Xte, yte = X[1000:], y[1000:]

net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for step in range(2000):
    w = min(1.0, step / 800)
    loss_sup = F.cross_entropy(net(X[lab]), y[lab])
    xu = Xu[torch.randint(len(Xu), (128,))]
    with torch.no_grad():
        prob, guess = net(xu).softmax(1).max(1)
    keep = (prob > 0.9).float()
    noisy = xu + 0.15 * torch.randn_like(xu)
    loss_uns = (F.cross_entropy(net(noisy), guess, reduction="none") * keep).mean()
    loss = loss_sup + w * loss_uns
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (step + 1) % 250 == 0:
        with torch.no_grad():
            acc = (net(Xte).argmax(1) == yte).float().mean().item()
        print(f"{step+1} sup {loss_sup.item():.4f} uns {loss_uns.item():.4f} used {keep.mean().item():.2f} acc {acc:.3f}")
