"""Large-scale kernel ridge with random Fourier features; only the linear read-out is trained."""
import argparse
import math
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from torch.utils.data import DataLoader, TensorDataset


class RandomFourier(nn.Module):
    def __init__(self, d, n_features, gamma, seed):
        super().__init__()
        g = torch.Generator().manual_seed(seed)
        self.register_buffer("omega", torch.randn(d, n_features, generator=g) * math.sqrt(2 * gamma))
        self.register_buffer("phase", torch.rand(n_features, generator=g) * 2 * math.pi)
        self.scale = math.sqrt(2.0 / n_features)

    def forward(self, x):
        return self.scale * torch.cos(x @ self.omega + self.phase)


class KernelRegressor(nn.Module):
    def __init__(self, d, n_features=600, gamma=0.05, seed=0):
        super().__init__()
        self.features = RandomFourier(d, n_features, gamma, seed)
        self.readout = nn.Linear(n_features, 1)
        nn.init.zeros_(self.readout.weight)
        nn.init.zeros_(self.readout.bias)

    def forward(self, x):
        return self.readout(self.features(x)).squeeze(-1)


class PolyakAverage:
    def __init__(self, params, start):
        self.params, self.start, self.n = list(params), start, 0
        self.mean = [p.detach().clone() for p in self.params]

    @torch.no_grad()
    def update(self, step):
        if step < self.start:
            return
        self.n += 1
        for m, p in zip(self.mean, self.params):
            m += (p - m) / self.n

    @torch.no_grad()
    def apply(self):
        for m, p in zip(self.mean, self.params):
            p.copy_(m)


def r2(model, x, y):
    with torch.no_grad():
        return (1 - (y - model(x)).pow(2).sum() / (y - y.mean()).pow(2).sum()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--features", type=int, default=600)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--lr", type=float, default=0.5)
    ap.add_argument("--batch", type=int, default=128)
    args = ap.parse_args()
    torch.manual_seed(0)
    X, y = make_friedman1(5000, 7, noise=1.0, random_state=0)
    X = torch.tensor((X - X[:4000].mean(0)) / X[:4000].std(0), dtype=torch.float32)
    y = torch.tensor((y - y[:4000].mean()) / y[:4000].std(), dtype=torch.float32)
    loader = DataLoader(TensorDataset(X[:4000], y[:4000]), args.batch, shuffle=True)
    model = KernelRegressor(7, args.features)
    opt = torch.optim.SGD(model.readout.parameters(), lr=args.lr, momentum=0.9)
    avg, step = PolyakAverage(model.readout.parameters(), 600), 0
    for ep in range(args.epochs):
        tot = 0.0
        for xb, yb in loader:
            loss = (model(xb) - yb).pow(2).mean() + 1e-6 * model.readout.weight.pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            avg.update(step)
            tot += loss.item()
        if ep % 5 == 4:
            print(f"epoch {ep + 1} mse {tot / len(loader):.4f} test R2 {r2(model, X[4000:], y[4000:]):.4f}")
    avg.apply()
    print(f"averaged weights: test R2 {r2(model, X[4000:], y[4000:]):.4f}")


if __name__ == "__main__":
    main()
