import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1)
rng = np.random.default_rng(1)

# hourly load: daily cycle + weekly cycle + AR noise
t = np.arange(3000)
noise = np.zeros(3000)
for k in range(1, 3000):
    noise[k] = 0.6 * noise[k - 1] + rng.normal(scale=0.15)
series = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 168) + noise
split = 2400
mu, sd = series[:split].mean(), series[:split].std()
series = ((series - mu) / sd).astype("float32")

SEQ = 30


def make_windows(s):
    xs, ys = [], []
    for i in range(len(s) - SEQ):
        xs.append(s[i:i + SEQ])
        ys.append(s[i + SEQ - 1])
    return torch.tensor(np.array(xs)).unsqueeze(-1), torch.tensor(np.array(ys))


Xtr, ytr = make_windows(series[:split])
Xte, yte = make_windows(series[split:])


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1]).squeeze(-1)


net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    perm = torch.randperm(len(Xtr))
    tot = 0
    for i in range(0, len(Xtr), 64):
        b = perm[i:i + 64]
        loss = nn.functional.mse_loss(net(Xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    with torch.no_grad():
        te = nn.functional.mse_loss(net(Xte), yte).item()
    print(f"epoch {epoch} train {tot / len(Xtr):.4f} test {te:.4f}")

# roll the model forward for one day and compare with what happened
hist = list(series[split:split + SEQ])
with torch.no_grad():
    for _ in range(24):
        x = torch.tensor(hist[-SEQ:]).view(1, SEQ, 1)
        hist.append(net(x).item())
true = series[split + SEQ:split + SEQ + 24]
print("24h rollout rmse", np.sqrt(np.mean((np.array(hist[SEQ:]) - true) ** 2)))
