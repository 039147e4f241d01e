"""One-step-ahead forecasting of a noisy seasonal series with a GRU; best weights are restored at the end."""
import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def series(n, seed):
    r = np.random.default_rng(seed)
    t = np.arange(n)
    level = np.cumsum(r.normal(0, 0.003, n))
    return (np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 7 + 1) + level + r.normal(0, 0.35, n)).astype(np.float32)


class Windows(Dataset):
    def __init__(self, values, length):
        self.v, self.length = torch.from_numpy(values), length

    def __len__(self):
        return len(self.v) - self.length

    def __getitem__(self, i):
        return self.v[i:i + self.length, None], self.v[i + self.length]


class GRUForecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(h[:, -1])[:, 0]


class BestKeeper:
    def __init__(self):
        self.loss, self.state, self.epoch = float("inf"), None, -1

    def update(self, loss, model, epoch):
        if loss < self.loss:
            self.loss, self.epoch = loss, epoch
            self.state = model.state_dict()


def mse(model, loader):
    model.eval()
    with torch.no_grad():
        return float(np.mean([(model(x) - y).pow(2).mean().item() for x, y in loader]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--window", type=int, default=24)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=80)
    ap.add_argument("--lr", type=float, default=6e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    v = series(900, 3)
    tr, va, te = v[:300], v[300 - args.window:550], v[550 - args.window:]
    mu, sd = tr.mean(), tr.std()
    mk = lambda a, s: DataLoader(Windows((a - mu) / sd, args.window), 16 if s else 64, shuffle=s)
    train_loader, val_loader, test_loader = mk(tr, True), mk(va, False), mk(te, False)
    model = GRUForecaster(args.hidden)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    keeper = BestKeeper()
    for ep in range(args.epochs):
        model.train()
        tot = 0.0
        for x, y in train_loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            tot += loss.item()
        vl = mse(model, val_loader)
        keeper.update(vl, model, ep)
        if ep % 10 == 0:
            print(f"epoch {ep} train {tot / len(train_loader):.4f} val {vl:.4f}")
    model.load_state_dict(keeper.state)
    print(f"best epoch {keeper.epoch} best val {keeper.loss:.4f} | restored val {mse(model, val_loader):.4f} test {mse(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
