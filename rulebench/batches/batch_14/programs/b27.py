"""DeepSurv-style Cox network on simulated right-censored data."""
import argparse
import numpy as np
import torch
import torch.nn as nn


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8)).astype(np.float32)
    risk = 1.2 * x[:, 0] - 0.9 * x[:, 1] + 0.7 * x[:, 2] * x[:, 3]
    t = rng.exponential(np.exp(-risk))
    c = rng.exponential(2.0, n)
    time = np.minimum(t, c).astype(np.float32)
    event = (t <= c).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(time), torch.from_numpy(event)


def cox_loss(log_risk, time, event):
    order = torch.argsort(time)
    log_risk, event = log_risk[order], event[order]
    log_cum = torch.logcumsumexp(log_risk, dim=0)
    return -((log_risk - log_cum) * event).sum() / event.sum()


def concordance(risk, time, event):
    risk, time, event = (v.numpy() for v in (risk, time, event))
    num = den = 0.0
    for i in np.flatnonzero(event):
        later = time > time[i]
        den += later.sum()
        num += (risk[i] > risk[later]).sum() + 0.5 * (risk[i] == risk[later]).sum()
    return num / den


class RiskNet(nn.Module):
    def __init__(self, d, hidden, p):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, hidden), nn.SELU(), nn.Dropout(p), nn.Linear(hidden, hidden), nn.SELU(),
                                 nn.Linear(hidden, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--hidden", type=int, default=48)
    a = ap.parse_args()
    torch.manual_seed(0)
    x, t, e = simulate(2000, 0)
    xv, tv, ev = simulate(500, 1)
    model = RiskNet(x.size(1), a.hidden, 0.1)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=1e-2)
    for ep in range(a.epochs):
        model.train()
        losses = []
        for b in torch.randperm(len(x)).split(a.batch):
            loss = cox_loss(model(x[b]), t[b], e[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if ep % 5 == 4:
            model.eval()
            with torch.no_grad():
                c_tr, c_va = concordance(model(x), t, e), concordance(model(xv), tv, ev)
            print(f"epoch {ep + 1} loss {np.mean(losses):.4f} c-index train {c_tr:.3f} val {c_va:.3f}")


if __name__ == "__main__":
    main()
