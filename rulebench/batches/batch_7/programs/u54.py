"""Digit matching: are the two images the same digit?  Shared encoder + comparison head."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(12)
rng = np.random.default_rng(12)
d = load_digits()
imgs = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
lab = d.target
train_ids, test_ids = np.arange(0, 1400), np.arange(1400, len(lab))


def sample_pairs(ids, n):
    a = rng.choice(ids, n)
    b = rng.choice(ids, n)
    same = rng.random(n) < 0.5
    for i in np.where(same)[0]:
        b[i] = rng.choice(ids[lab[ids] == lab[a[i]]])
    t = torch.tensor((lab[a] == lab[b]).astype("float32"))
    return imgs[a], imgs[b], t


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 32))

    def forward(self, x):
        return self.net(x)


encoder = Encoder()
head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()

xa_t, xb_t, t_t = sample_pairs(test_ids, 1000)
for step in range(1, 901):
    xa, xb, t = sample_pairs(train_ids, 64)
    diff = (encoder(xa) - encoder(xb)).abs()
    logit = head(diff).squeeze(1)
    loss = bce(logit, t)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        with torch.no_grad():
            z = head((encoder(xa_t) - encoder(xb_t)).abs()).squeeze(1)
            acc = ((z > 0).float() == t_t).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} test acc {acc:.3f}")
