import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(1)
torch.set_num_threads(1)
rng = np.random.default_rng(1)

LATENT = 4
BATCH = 128
STEPS = 1000


def real_batch(n):
    # banana-shaped density
    a = rng.normal(size=n)
    b = 0.3 * rng.normal(size=n) + 0.5 * (a**2 - 1)
    return torch.from_numpy(np.stack([a, b], 1).astype("float32"))


generator = keras.Sequential(
    [
        keras.Input((LATENT,)),
        layers.Dense(48, activation="relu"),
        layers.Dense(48, activation="relu"),
        layers.Dense(2),
    ],
    name="generator",
)
discriminator = keras.Sequential(
    [
        keras.Input((2,)),
        layers.Dense(48, activation=keras.layers.LeakyReLU(0.2)),
        layers.Dense(48, activation=keras.layers.LeakyReLU(0.2)),
        layers.Dense(1),
    ],
    name="discriminator",
)

g_opt = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.99))
d_opt = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = torch.nn.BCEWithLogitsLoss()


def frechet(a, b):
    ma, mb = a.mean(0), b.mean(0)
    ca, cb = np.cov(a.T), np.cov(b.T)
    w, v = np.linalg.eigh(ca)
    sa = v @ np.diag(np.sqrt(np.maximum(w, 0))) @ v.T
    w = np.linalg.eigvalsh(sa @ cb @ sa)
    return float(((ma - mb) ** 2).sum() + np.trace(ca) + np.trace(cb) - 2 * np.sqrt(np.maximum(w, 0)).sum())


ones = torch.ones(BATCH, 1)
zeros = torch.zeros(BATCH, 1)
reference = real_batch(4000).numpy()
z_eval = torch.randn(4000, LATENT)
d_hist, g_hist = [], []
for step in range(1, STEPS + 1):
    # discriminator
    real = real_batch(BATCH)
    fake = generator(torch.randn(BATCH, LATENT)).detach()
    d_loss = bce(discriminator(real), 0.9 * ones) + bce(discriminator(fake), zeros)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    # generator
    fake = generator(torch.randn(BATCH, LATENT))
    g_loss = bce(discriminator(fake), ones)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()

    d_hist.append(d_loss.item())
    g_hist.append(g_loss.item())
    if step == 1 or step % 250 == 0:
        with torch.no_grad():
            sample = generator(z_eval).numpy()
        print(
            f"step {step:4d}  D {np.mean(d_hist[-100:]):.3f}  G {np.mean(g_hist[-100:]):.3f}  "
            f"frechet {frechet(sample, reference):.4f}"
        )
