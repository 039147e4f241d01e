import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers

# GAN for points on a ring, losses on logits, one step each
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)


def ring(n):
    a = rng.uniform(0, 2 * np.pi, n)
    r = 1 + 0.08 * rng.normal(size=n)
    return torch.tensor(np.stack([r * np.cos(a), r * np.sin(a)], 1), dtype=torch.float32)


Z, B, STEPS = 4, 128, 1200
G = keras.Sequential([keras.Input((Z,)), layers.Dense(48, activation="relu"),
                      layers.Dense(48, activation="relu"), layers.Dense(2)])
D = keras.Sequential([keras.Input((2,)), layers.Dense(48, activation=keras.layers.LeakyReLU(0.2)),
                      layers.Dense(48, activation=keras.layers.LeakyReLU(0.2)), layers.Dense(1)])
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = torch.nn.BCEWithLogitsLoss()
real_label, fake_label = torch.full((B, 1), 0.9), torch.zeros(B, 1)

for step in range(1, STEPS + 1):
    fake = G(torch.randn(B, Z))
    d_loss = bce(D(ring(B)), real_label) + bce(D(fake.detach()), fake_label)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = bce(D(fake), torch.ones(B, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 200 == 0:
        print(f"step {step} D {d_loss.item():.3f} G {g_loss.item():.3f}")

with torch.no_grad():
    s = G(torch.randn(2000, Z)).numpy()
radius = np.linalg.norm(s, axis=1)
sectors = np.bincount(((np.arctan2(s[:, 1], s[:, 0]) + np.pi) / (2 * np.pi) * 12).astype(int) % 12, minlength=12)
print("radius mean %.3f std %.3f" % (radius.mean(), radius.std()))
print("share per sector", (sectors / 2000).round(3))
