"""Tabular price regression."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CFG = dict(n=3000, hidden=64, lr=2e-3, wd=1e-4, epochs=15, bs=64, patience=5, seed=5)


def make_houses(n, rng):
    area = rng.lognormal(4.6, 0.35, n)
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.7, n)), 1, 9)
    age = rng.uniform(0, 90, n)
    dist = rng.gamma(2.0, 4.0, n)
    floor = rng.integers(0, 12, n)
    lift = rng.integers(0, 2, n)
    price = 2.1 * area + 9 * rooms - 0.5 * age + 140 * np.exp(-dist / 6) + 3 * floor * lift + rng.normal(0, 12, n)
    X = np.stack([area, rooms, age, dist, floor, lift], 1)
    return X.astype(np.float32), price.astype(np.float32)


class Standardizer:
    def fit(self, a):
        self.mean, self.std = a.mean(0), a.std(0) + 1e-8
        return self

    def __call__(self, a):
        return (a - self.mean) / self.std

    def inverse(self, a):
        return a * self.std + self.mean


class PriceNet(nn.Module):
    def __init__(self, d_in, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def predict(model, X):
    model.eval()
    return model(torch.from_numpy(X)).numpy().reshape(-1)


def main():
    rng = np.random.default_rng(CFG["seed"])
    torch.manual_seed(CFG["seed"])
    X, y = make_houses(CFG["n"], rng)
    n_tr, n_va = int(0.7 * len(X)), int(0.85 * len(X))
    sx, sy = Standardizer().fit(X[:n_tr]), Standardizer().fit(y[:n_tr])
    Xs, ys = sx(X).astype(np.float32), sy(y).astype(np.float32)
    loader = DataLoader(TensorDataset(torch.from_numpy(Xs[:n_tr]), torch.from_numpy(ys[:n_tr])), CFG["bs"], shuffle=True)
    model = PriceNet(X.shape[1], CFG["hidden"])
    opt = torch.optim.AdamW(model.parameters(), lr=CFG["lr"], weight_decay=CFG["wd"])
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
    loss_fn = nn.MSELoss()
    best, bad = float("inf"), 0
    for epoch in range(CFG["epochs"]):
        model.train()
        tot = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            tot += loss.item()
        val = sy.inverse(predict(model, Xs[n_tr:n_va]))
        rmse = float(np.sqrt(np.mean((val - y[n_tr:n_va]) ** 2)))
        plateau.step(rmse)
        print(f"epoch {epoch:2d} train mse {tot / len(loader):.4f} val rmse {rmse:.2f}")
        if rmse < best - 1e-3:
            best, bad = rmse, 0
        else:
            bad += 1
            if bad >= CFG["patience"]:
                print("early stop")
                break
    test = sy.inverse(predict(model, Xs[n_va:]))
    ss = 1 - np.sum((test - y[n_va:]) ** 2) / np.sum((y[n_va:] - y[n_va:].mean()) ** 2)
    print(f"test R2 {ss:.3f}  best val rmse {best:.2f}  price std {y.std():.1f}")


if __name__ == "__main__":
    main()
