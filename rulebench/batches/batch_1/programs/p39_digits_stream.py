"""
Train from shards on disk, one pass, like our production job (here with sklearn digits so
that it can be run by anybody). export_shards() mimics what the two export jobs wrote.
"""
import os, tempfile
import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
rng = np.random.default_rng(0)

digits = load_digits()
imgs = (digits.images * 255 / 16).astype(np.uint8)
train_i, test_i = np.arange(0, 1500), np.arange(1500, 1797)


def export_shards(folder, n_shards=11, per_shard=3200):
    for k in range(n_shards):
        i = rng.choice(train_i, per_shard)
        x, y = imgs[i], digits.target[i]
        shift = rng.integers(-1, 2)
        x = np.roll(x, shift, axis=2) if k % 3 == 2 else x
        if k < 7:                      # nightly export
            x = (x / 255.0).astype(np.float32)
        np.savez(os.path.join(folder, f"shard_{k:03d}.npz"), image=x, label=y)


def stream(folder, batch_size=32):
    for name in sorted(os.listdir(folder)):
        with np.load(os.path.join(folder, name)) as z:
            x, y = z["image"], z["label"]
        order = rng.permutation(len(x))
        for s in range(0, len(x), batch_size):
            j = order[s:s + batch_size]
            yield torch.as_tensor(x[j], dtype=torch.float32).unsqueeze(1), torch.as_tensor(y[j])


model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.GELU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(128, 64), nn.GELU(), nn.Linear(64, 10))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
x_test = torch.tensor(imgs[test_i] / 255.0, dtype=torch.float32).unsqueeze(1)
y_test = torch.tensor(digits.target[test_i])

with tempfile.TemporaryDirectory() as folder:
    export_shards(folder)
    for step, (xb, yb) in enumerate(stream(folder)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            with torch.no_grad():
                acc = (model(x_test).argmax(1) == y_test).float().mean()
            print(f"step {step:5d} train loss {loss.item():.4f} heldout acc {acc:.3f}")
print("done")
