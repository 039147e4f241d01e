import numpy as np
import torch
import torch.nn as nn

# three regimes of a machine from temperature, speed and vibration
torch.manual_seed(3)
rng = np.random.default_rng(3)
temp = rng.normal(60, 8, 4000)
rpm = rng.normal(2500, 300, 4000)
vib = rng.normal(0.02, 0.006, 4000)
z = (temp - 60) / 8 + (rpm - 2500) / 300 * 0.3 + 2.0 * (vib - 0.02) / 0.006
y = np.digitize(z, [-1.2, 1.2])
# raw export of the logger
for col in (temp, vib):
    col[rng.random(4000) < 0.08] = -9999
X = np.stack([temp, rpm, vib], 1)
X = (X - X.mean(0)) / X.std(0)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(25):
    perm, tot = torch.randperm(3200), 0.0
    for i in range(0, 3200, 64):
        b = perm[i:i + 64]
        loss = nn.functional.cross_entropy(net(X[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() / 50
    with torch.no_grad():
        acc = (net(X[3200:]).argmax(1) == y[3200:]).float().mean().item()
    print(f"epoch {epoch} loss {tot:.4f} test acc {acc:.3f}")
