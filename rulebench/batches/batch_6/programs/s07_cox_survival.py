"""DeepSurv style network on simulated right-censored data."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(11)
rng = np.random.default_rng(11)
n, p = 1500, 10
X = rng.normal(size=(n, p)).astype(np.float32)
risk = 1.2 * X[:, 0] - 0.8 * X[:, 1] + 0.7 * X[:, 2] * X[:, 3] + 0.5 * X[:, 4] ** 2
T = rng.exponential(np.exp(-risk))
C = rng.exponential(0.6 * np.median(T) / np.log(2) * 4, size=n)
time = np.minimum(T, C).astype(np.float32)
event = (T <= C).astype(np.float32)
print("censoring: %.2f" % (1 - event.mean()))

tr, te = slice(0, 1100), slice(1100, n)


def cox_ph_loss(log_h, t, e):
    """Negative partial log likelihood (Breslow, no ties)."""
    order = torch.argsort(t)
    log_h, e = log_h[order], e[order]
    log_risk_set = torch.logcumsumexp(log_h, dim=0)
    return -((log_h - log_risk_set) * e).sum() / e.sum()


def c_index(score, t, e):
    num = den = 0.0
    for i in np.where(e == 1)[0]:
        later = t > t[i]
        den += later.sum()
        num += (score[i] > score[later]).sum() + 0.5 * (score[i] == score[later]).sum()
    return num / den


net = nn.Sequential(nn.Linear(p, 32), nn.SELU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.SELU(), nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3)
xt, tt, et = (torch.from_numpy(a[tr]) for a in (X, time, event))
for epoch in range(25):
    net.train()
    perm = torch.randperm(len(xt))
    losses = []
    for idx in perm.split(128):
        loss = cox_ph_loss(net(xt[idx]).squeeze(1), tt[idx], et[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            s = net(torch.from_numpy(X[te])).squeeze(1).numpy()
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}  test C-index {c_index(s, time[te], event[te]):.4f}")
