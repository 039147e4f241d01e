import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score

# machine vibration: normal = 2 harmonics, faulty machines have an extra impulse train
rng = np.random.default_rng(4)
torch.manual_seed(4)


def signal(n, broken):
    t = np.arange(128)
    a = rng.uniform(0.8, 1.2, (n, 1))
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    s = a * np.sin(0.2 * t + ph) + 0.4 * np.sin(0.4 * t + 2 * ph) + 0.1 * rng.standard_normal((n, 128))
    if broken:
        off = rng.integers(0, 20, n)
        for i in range(n):
            s[i, off[i]::20] += 0.9
    return np.abs(np.fft.rfft(s, axis=1))[:, :64]


train = signal(1500, False)
test = np.concatenate([signal(300, False), signal(60, True)])
label = np.r_[np.zeros(300), np.ones(60)]
train, test = np.log1p(train), np.log1p(test)
mu, sd = train.mean(0), train.std(0)
train = torch.tensor((train - mu) / sd, dtype=torch.float32)
test = torch.tensor((test - mu) / sd, dtype=torch.float32)

ae = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 6), nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 64))
opt = torch.optim.Adam(ae.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(40):
    for xb in train[torch.randperm(len(train))].split(64):
        loss = mse(ae(xb), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 10 == 9:
        with torch.no_grad():
            err = ((ae(test) - test) ** 2).mean(1).numpy()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} normal {err[:300].mean():.3f} broken {err[300:].mean():.3f} auc {roc_auc_score(label, err):.4f}")
thr = np.quantile(((ae(train) - train) ** 2).mean(1).detach().numpy(), 0.99)
print("recall at 99% threshold", (err[300:] > thr).mean(), "false alarms", (err[:300] > thr).mean())
