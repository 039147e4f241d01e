# tone vs chirp vs noise-burst classification with a 1D conv net
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
SR, N = 512, 512


def clip(kind):
    t = np.arange(N) / SR
    f = rng.uniform(20, 80)
    ph = rng.uniform(0, 2 * np.pi)
    if kind == 0:
        s = np.sin(2 * np.pi * f * t + ph)
    elif kind == 1:
        s = np.sin(2 * np.pi * (f * t + rng.uniform(15, 40) * t ** 2) + ph)
    elif kind == 2:
        s = np.sin(2 * np.pi * f * t + ph) * (1 + np.sin(2 * np.pi * rng.uniform(3, 6) * t))
    else:
        s = rng.normal(size=N) * np.exp(-((t - 0.5) / 0.2) ** 2)
    s = s + 0.5 * rng.normal(size=N)
    return s / s.std()


labels = rng.integers(0, 4, 1400)
waves = np.stack([clip(k) for k in labels]).astype("float32")
X = torch.from_numpy(waves).unsqueeze(1)
y = torch.from_numpy(labels)
Xtr, ytr, Xte, yte = X[:1000], y[:1000], X[1000:], y[1000:]

model = nn.Sequential(
    nn.Conv1d(1, 16, 25, stride=4), nn.BatchNorm1d(16), nn.ReLU(),
    nn.Conv1d(16, 32, 9, stride=2), nn.BatchNorm1d(32), nn.ReLU(),
    nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(128, 4),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(12):
    model.train()
    perm = torch.randperm(1000)
    running = 0.0
    for i in range(0, 1000, 50):
        idx = perm[i:i + 50]
        out = model(Xtr[idx])
        loss = criterion(out, ytr[idx])
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(Xte).argmax(1) == yte).float().mean()
    print(f"Epoch {epoch + 1} loss {running / 20:.3f} val acc {acc:.3f}")
