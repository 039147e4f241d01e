import argparse
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SlidingWindow(Dataset):
    """Windows of the series and the value that follows each of them."""

    def __init__(self, series, window):
        self.series = torch.as_tensor(series, dtype=torch.float32)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        return self.series[i:i + self.window].unsqueeze(-1), self.series[i + self.window]


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def make_series(n, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    s = np.sin(2 * math.pi * t / 24) + 0.5 * np.sin(2 * math.pi * t / 60) + 0.1 * rng.standard_normal(n)
    return s


def run_epoch(model, loader, loss_fn, opt=None):
    model.train(opt is not None)
    total = 0.0
    for x, y in loader:
        with torch.set_grad_enabled(opt is not None):
            pred = model(x)
            loss = loss_fn(pred, y)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@torch.no_grad()
def forecast(model, dataset):
    model.eval()
    preds = [model(dataset[i][0].unsqueeze(0)).item() for i in range(0, len(dataset), 3)]
    truth = [dataset[i][1].item() for i in range(0, len(dataset), 3)]
    return np.array(preds), np.array(truth)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--window", type=int, default=30)
    p.add_argument("--hidden", type=int, default=24)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    series = make_series(1600, args.seed)
    cut = 1200
    mean, std = series[:cut].mean(), series[:cut].std()
    series = (series - mean) / std
    train_ds = SlidingWindow(series[:cut], args.window)
    test_ds = SlidingWindow(series[cut:], args.window)
    train = DataLoader(train_ds, batch_size=64, shuffle=True)
    test = DataLoader(test_ds, batch_size=64)

    model = Forecaster(args.hidden)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.MSELoss()
    for e in range(args.epochs):
        tr = run_epoch(model, train, loss_fn, opt)
        te = run_epoch(model, test, loss_fn)
        print(f"epoch {e + 1:2d}  train {tr:.4f}  test {te:.4f}")
    pred, truth = forecast(model, test_ds)
    print("rmse of the forecast (original units):", np.sqrt(np.mean((pred - truth) ** 2)) * std)


if __name__ == "__main__":
    main()
