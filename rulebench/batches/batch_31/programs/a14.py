# Sharpness-aware minimisation (Foret et al. 2021), own implementation around SGD.
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

SEED = 19
torch.manual_seed(SEED); torch.set_num_threads(1)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def ascend(self):
        g = torch.norm(torch.stack([p.grad.norm() for gr in self.param_groups for p in gr["params"] if p.grad is not None]))
        for gr in self.param_groups:
            for p in gr["params"]:
                if p.grad is None:
                    continue
                self.state[p]["w"] = p.detach().clone()
                p.add_(p.grad, alpha=gr["rho"] / (g.item() + 1e-12))
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        for gr in self.param_groups:
            for p in gr["params"]:
                if "w" in self.state[p]:
                    p.copy_(self.state[p]["w"])
        self.base.step()
        self.zero_grad()


d = load_digits()
X = torch.tensor(d.data / 8.0 - 1.0, dtype=torch.float32)
y = torch.tensor(d.target)
p = torch.randperm(len(X))
X, y = X[p], y[p]
Xtr, ytr, Xte, yte = X[:500], y[:500], X[500:], y[500:]

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
opt = SAM(net.parameters(), torch.optim.SGD, rho=0.1, lr=0.05, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt.base, T_max=100)
ce = nn.CrossEntropyLoss()

for epoch in range(100):
    idx = torch.randperm(500)
    for i in range(0, 500, 50):
        xb, yb = Xtr[idx[i:i + 50]], ytr[idx[i:i + 50]]
        l1 = ce(net(xb), yb)
        l1.backward()
        opt.ascend()
        l2 = ce(net(xb), yb)
        l2.backward()
        opt.step()
    sched.step()
    if epoch % 10 == 0:
        with torch.no_grad():
            a = (net(Xte).argmax(1) == yte).float().mean()
        print(f"ep {epoch:3d} loss at w {l1.item():.4f}  at w+eps {l2.item():.4f}  test {a:.4f}  lr {sched.get_last_lr()[0]:.4f}")

with torch.no_grad():
    print("test accuracy from 500 training digits:", (net(Xte).argmax(1) == yte).float().mean().item())
