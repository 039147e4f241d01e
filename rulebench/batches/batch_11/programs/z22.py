"""Sharpness-aware minimisation on a noisy-label tabular problem."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from torch.utils.data import DataLoader, TensorDataset


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_cls, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base_cls(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def ascend(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]))
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                e = p.grad * (g["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for g in self.param_groups:
            for p in g["params"]:
                if "e" in self.state[p]:
                    p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise RuntimeError("use ascend() and descend()")


class MLP(nn.Module):
    def __init__(self, d, c):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(d, 128), nn.Linear(128, 128), nn.Linear(128, c)

    def forward(self, x):
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


def evaluate(model, x, y):
    with torch.no_grad():
        out = model(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rho", type=float, default=0.1)
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--noise", type=float, default=0.15)
    args = ap.parse_args()
    torch.manual_seed(0)
    X, y = make_classification(3600, 20, n_informative=10, n_classes=4, n_clusters_per_class=2, class_sep=1.6, random_state=2)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    X = (X - X[:2400].mean(0)) / X[:2400].std(0)
    ytr = y[:2400].clone()
    flip = torch.rand(len(ytr)) < args.noise
    ytr[flip] = torch.randint(0, 4, (int(flip.sum()),))
    model = MLP(20, 4)
    opt = SAM(model.parameters(), torch.optim.SGD, rho=args.rho, lr=0.05, momentum=0.9)
    loader = DataLoader(TensorDataset(X[:2400], ytr), 64, shuffle=True)
    for ep in range(args.epochs):
        tot = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            opt.ascend()
            F.cross_entropy(model(xb), yb).backward()
            opt.descend()
            tot += loss.item()
        tl, ta = evaluate(model, X[2400:], y[2400:])
        print(f"epoch {ep} noisy train loss {tot / len(loader):.4f} clean test loss {tl:.4f} acc {ta:.4f}")


if __name__ == "__main__":
    main()
