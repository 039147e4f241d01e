"""DeepSurv style Cox model trained on simulated follow-up data."""
import argparse
import numpy as np
import torch
from torch import nn


def simulate(n, p=10, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    risk = 0.9 * x[:, 0] - 0.7 * x[:, 1] + 0.6 * x[:, 2] * x[:, 3] + 0.4 * x[:, 4] ** 2
    t = rng.exponential(1.0 / (0.1 * np.exp(risk)))
    c = rng.exponential(15.0, size=n)
    time = np.minimum(t, c)
    event = (t <= c).astype(np.float32)
    return x.astype(np.float32), time.astype(np.float32), event


class RiskNet(nn.Module):
    def __init__(self, p, hidden, dropout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(p, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def cox_loss(log_h, time, event):
    """Negative log partial likelihood (Breslow)."""
    order = torch.argsort(time)
    log_h = log_h[order]
    event = event[order]
    log_risk = torch.logcumsumexp(log_h, dim=0)
    return -((log_h - log_risk) * event).sum() / event.sum()


def concordance(log_h, time, event):
    h, t, e = log_h.numpy(), time.numpy(), event.numpy()
    num = den = 0.0
    for i in np.where(e == 1)[0]:
        later = t > t[i]
        den += later.sum()
        num += (h[i] > h[later]).sum() + 0.5 * (h[i] == h[later]).sum()
    return num / den


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--hidden", type=int, default=48)
    ap.add_argument("--dropout", type=float, default=0.1)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(3)
    x, t, e = [torch.from_numpy(a) for a in simulate(2400)]
    ntr = 1800
    mean, std = x[:ntr].mean(0), x[:ntr].std(0)
    x = (x - mean) / std
    model = RiskNet(x.shape[1], args.hidden, args.dropout)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    print(f"events in training set: {e[:ntr].mean():.2f}")
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for idx in torch.randperm(ntr).split(args.batch):
            loss = cox_loss(model(x[idx]), t[idx], e[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if (epoch + 1) % 5 == 0:
            model.eval()
            with torch.no_grad():
                c = concordance(model(x[ntr:]), t[ntr:], e[ntr:])
            print(f"epoch {epoch + 1:3d}  loss {np.mean(losses):.4f}  test c-index {c:.3f}")


if __name__ == "__main__":
    main()
