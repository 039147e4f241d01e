"""DeepSurv-style Cox model on simulated patients."""
import argparse
import numpy as np
import torch
import torch.nn as nn


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8)).astype(np.float32)
    risk = 1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.7 * x[:, 2] * x[:, 3]
    t = rng.exponential(np.exp(-risk))
    c = rng.exponential(1.5, size=n)
    time = np.minimum(t, c).astype(np.float32)
    event = (t <= c).astype(np.float32)
    return torch.tensor(x), torch.tensor(time), torch.tensor(event)


class DeepSurv(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, 1, bias=False)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def cox_loss(log_h, time, event):
    order = torch.argsort(time)
    log_h, event = log_h[order], event[order]
    log_risk = torch.logcumsumexp(log_h, dim=0)
    return -((log_h - log_risk) * event).sum() / event.sum()


def concordance(score, time, event):
    s, t, e = score.numpy(), time.numpy(), event.numpy()
    num = den = 0.0
    for i in np.where(e == 1)[0]:
        later = t > t[i]
        den += later.sum()
        num += (s[i] > s[later]).sum() + 0.5 * (s[i] == s[later]).sum()
    return num / den


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--hidden", type=int, default=32)
    args = ap.parse_args()
    torch.manual_seed(0)
    xtr, ttr, etr = simulate(2000, 0)
    xte, tte, ete = simulate(600, 1)
    print(f"events in train: {etr.mean():.2f}")
    model = DeepSurv(xtr.shape[1], args.hidden)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    for ep in range(1, args.epochs + 1):
        model.train()
        perm, tot = torch.randperm(len(xtr)), []
        for idx in perm.split(args.batch):
            loss = cox_loss(model(xtr[idx]), ttr[idx], etr[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot.append(loss.item())
        if ep % 10 == 0:
            model.eval()
            with torch.no_grad():
                c = concordance(model(xte), tte, ete)
            print(f"epoch {ep} partial-likelihood loss {np.mean(tot):.4f} test c-index {c:.3f}")


if __name__ == "__main__":
    main()
