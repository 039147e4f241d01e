"""2-D GAN on a ring of Gaussians, Keras 3 with the torch backend."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(0)
torch.set_num_threads(1)

MODES, LATENT, BATCH, STEPS = 6, 8, 256, 1000


def real_batch(rng, n):
    k = rng.integers(0, MODES, n)
    ang = 2 * np.pi * k / MODES
    pts = np.stack([np.cos(ang), np.sin(ang)], 1) * 2 + rng.normal(0, 0.25, (n, 2))
    return torch.tensor(pts, dtype=torch.float32)


generator = keras.Sequential([
    keras.Input((LATENT,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(2),
])
discriminator = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(64, activation="leaky_relu"),
    layers.Dense(64, activation="leaky_relu"),
    layers.Dense(1),
])
g_opt = keras.optimizers.Adam(1e-3, beta_1=0.5)
d_opt = keras.optimizers.Adam(2e-3, beta_1=0.5)
bce = keras.losses.BinaryCrossentropy(from_logits=True)


def apply(optimizer, model, loss):
    model.zero_grad()
    loss.backward()
    variables = model.trainable_weights
    grads = [v.value.grad for v in variables]
    with torch.no_grad():
        optimizer.apply(grads, variables)


rng = np.random.default_rng(0)
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
log = []
for step in range(1, STEPS + 1):
    fake = generator(torch.randn(BATCH, LATENT))
    d_loss = bce(ones * 0.9, discriminator(real_batch(rng, BATCH))) + bce(zeros, discriminator(fake.detach()))
    apply(d_opt, discriminator, d_loss)

    fake = generator(torch.randn(BATCH, LATENT))
    g_loss = bce(ones, discriminator(fake))
    apply(g_opt, generator, g_loss)

    log.append((float(d_loss), float(g_loss)))
    if step % 100 == 0:
        d, g = np.mean(log[-100:], axis=0)
        print(f"step {step:5d}  d_loss {d:.3f}  g_loss {g:.3f}")

with torch.no_grad():
    pts = generator(torch.randn(2000, LATENT)).numpy()
radius = np.linalg.norm(pts, axis=1)
mode = np.round(np.arctan2(pts[:, 1], pts[:, 0]) / (2 * np.pi / MODES)).astype(int) % MODES
print("radius mean/std:", radius.mean().round(3), radius.std().round(3))
print("samples per mode:", np.bincount(mode, minlength=MODES))
