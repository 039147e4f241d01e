import numpy as np
import torch
from torch import nn
from sklearn.datasets import make_classification

torch.manual_seed(14)


class ReZeroBlock(nn.Module):
    """x + alpha * f(x), alpha starts at zero (Bachlechner et al. 2020), no normalisation anywhere"""

    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.alpha * self.f(x)


class DeepNet(nn.Module):
    def __init__(self, d_in, d=32, depth=16, classes=6):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.body = nn.Sequential(*[ReZeroBlock(d) for _ in range(depth)])
        self.out = nn.Linear(d, classes)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        return self.out(self.body(self.inp(x)))


X, y = make_classification(6000, 20, n_informative=12, n_redundant=0, n_classes=6,
                           n_clusters_per_class=2, class_sep=1.6, flip_y=0.01, random_state=14)
X = (X - X[:4500].mean(0)) / X[:4500].std(0)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
net = DeepNet(20)
print(sum(p.numel() for p in net.parameters()), "parameters")

scalars = [p for n, p in net.named_parameters() if n.endswith("alpha")]
rest = [p for n, p in net.named_parameters() if not n.endswith("alpha")]
opt = torch.optim.AdamW([{"params": scalars, "lr": 5e-3, "weight_decay": 0.0},
                         {"params": rest, "lr": 1e-3, "weight_decay": 0.05}])
steps, step = 14 * 71, 0
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=[1e-2, 3e-3], total_steps=steps)
lossf = nn.CrossEntropyLoss()

for epoch in range(14):
    net.train()
    perm = torch.randperm(4500)
    tot = 0.0
    for b in perm.split(64):
        loss = lossf(net(X[b]), y[b])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        tot += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        acc = (net(X[4500:]).argmax(1) == y[4500:]).float().mean().item()
    print(f"epoch {epoch:2d} loss {tot / 4500:.4f} test acc {acc:.4f} "
          f"mean |alpha| {np.mean([abs(a.item()) for a in scalars]):.3f} lr {sched.get_last_lr()[1]:.1e}")
print("test accuracy", round(acc, 4))
