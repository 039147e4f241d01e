"""DeepSurv-style Cox regression on simulated patients."""
import argparse

import numpy as np
import torch
import torch.nn as nn


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8)).astype(np.float32)
    risk = 0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.5 * x[:, 2] * x[:, 3]
    event_time = rng.exponential(1.0 / (0.1 * np.exp(risk)))
    censor_time = rng.exponential(20.0, size=n)
    time = np.minimum(event_time, censor_time).astype(np.float32)
    event = (event_time <= censor_time).astype(np.float32)
    return torch.tensor(x), torch.tensor(time), torch.tensor(event)


def cox_loss(log_risk, time, event):
    """Negative log partial likelihood (Breslow, no ties expected)."""
    order = torch.argsort(time)
    log_risk, event = log_risk[order], event[order]
    log_risk_set = torch.logcumsumexp(log_risk, dim=0)
    return -((log_risk - log_risk_set) * event).sum() / event.sum().clamp(min=1)


def concordance(log_risk, time, event):
    earlier = (time[:, None] < time[None, :]) & (event[:, None] > 0)
    diff = log_risk[:, None] - log_risk[None, :]
    good = (diff > 0).float() + 0.5 * (diff == 0).float()
    return (good * earlier).sum().item() / earlier.sum().item()


class DeepSurv(nn.Module):
    def __init__(self, n_in, hidden=32, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.SELU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.SELU(), nn.Dropout(dropout),
            nn.Linear(hidden, 1, bias=False),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def train_epoch(model, opt, x, time, event, batch_size):
    model.train()
    losses = []
    for b in torch.randperm(len(x)).split(batch_size):
        loss = cox_loss(model(x[b]), time[b], event[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, val = simulate(1500, 0), simulate(500, 1)
    print("events in training data: %.2f" % train[2].mean().item())
    model = DeepSurv(8)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    for epoch in range(args.epochs):
        loss = train_epoch(model, opt, *train, args.batch_size)
        if (epoch + 1) % 3 == 0:
            model.eval()
            with torch.no_grad():
                lr_ = model(val[0])
                vl = cox_loss(lr_, val[1], val[2]).item()
            print(f"epoch {epoch + 1} loss {loss:.4f} val loss {vl:.4f} val c-index {concordance(lr_, val[1], val[2]):.3f}")


if __name__ == "__main__":
    main()
