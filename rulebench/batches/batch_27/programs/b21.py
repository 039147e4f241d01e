"""Prequential (test-then-train) learning on a drifting stream, one event at a time."""
import numpy as np
import torch
import torch.nn as nn

SEED = 2
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
N, D = 24000, 8


def stream():
    w = rng.normal(size=D)
    v = rng.normal(size=D)
    for t in range(N):
        angle = 2 * np.pi * t / N
        x = rng.normal(size=D)
        score = np.cos(angle) * (w @ x) + np.sin(angle) * (v @ x) + 0.3 * rng.normal()
        yield x.astype(np.float32), np.float32(score > 0)


model = nn.Sequential(nn.Linear(D, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.BCEWithLogitsLoss()
frozen = None
hits, frozen_hits, losses = [], [], []
for t, (x, y) in enumerate(stream()):
    x, y = torch.from_numpy(x), torch.tensor([y])
    out = model(x)
    hits.append(float((out.item() > 0) == bool(y.item())))       # scored before it is learned from
    loss = loss_fn(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    if t == N // 6:
        frozen = [p.detach().clone() for p in model.parameters()]
    if frozen is not None:
        with torch.no_grad():
            h = torch.relu(x @ frozen[0].T + frozen[1]) @ frozen[2].T + frozen[3]
        frozen_hits.append(float((h.item() > 0) == bool(y.item())))
    if (t + 1) % 2000 == 0:
        print(f"t={t + 1:6d}  loss {np.mean(losses[-2000:]):.3f}  accuracy of the last 2000 {np.mean(hits[-2000:]):.3f}")
print(f"prequential accuracy after warm-up {np.mean(hits[N // 6:]):.3f}   model frozen at t={N // 6}: {np.mean(frozen_hits):.3f}")
