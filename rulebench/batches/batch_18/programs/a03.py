"""WGAN with gradient penalty on a ring of gaussians."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import argparse
import numpy as np
import torch
import keras
from keras import layers


def real_batch(n, rng):
    a = rng.integers(0, 8, n) * np.pi / 4
    pts = np.stack([np.cos(a), np.sin(a)], 1) + rng.normal(0, 0.05, (n, 2))
    return torch.as_tensor(pts.astype("float32"))


def make_generator(latent):
    return keras.Sequential([
        keras.Input((latent,)),
        layers.Dense(48, activation="relu"),
        layers.Dense(48, activation="relu"),
        layers.Dense(2),
    ])


def make_critic():
    return keras.Sequential([
        keras.Input((2,)),
        layers.Dense(64, activation="leaky_relu"),
        layers.Dense(64, activation="leaky_relu"),
        layers.Dense(1),
    ])


def apply_grads(model, optimizer, loss):
    model.zero_grad()
    loss.backward()
    weights = model.trainable_weights
    grads = [w.value.grad for w in weights]
    with torch.no_grad():
        optimizer.apply(grads, weights)


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    grad, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


def ring_distance(points):
    a = np.arange(8) * np.pi / 4
    centres = np.stack([np.cos(a), np.sin(a)], 1)
    d = np.linalg.norm(points[:, None] - centres[None], axis=2)
    return d.min(1).mean(), len(np.unique(d.argmin(1)[d.min(1) < 0.4]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--n-critic", type=int, default=3)
    ap.add_argument("--penalty", type=float, default=1.0)
    ap.add_argument("--latent", type=int, default=4)
    args = ap.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)

    gen, critic = make_generator(args.latent), make_critic()
    g_opt, c_opt = keras.optimizers.Adam(2e-3, beta_1=0.5), keras.optimizers.Adam(4e-3, beta_1=0.5)

    start = gen(torch.randn(500, args.latent)).detach().numpy()
    print("before training: distance %.3f, modes %d" % ring_distance(start))
    for step in range(1, args.steps + 1):
        for _ in range(args.n_critic):
            fake = gen(torch.randn(64, args.latent)).detach()
            real = real_batch(64, rng)
            c_loss = critic(fake).mean() - critic(real).mean() + args.penalty * gradient_penalty(critic, real, fake)
            apply_grads(critic, c_opt, c_loss)
        g_loss = -critic(gen(torch.randn(64, args.latent))).mean()
        apply_grads(gen, g_opt, g_loss)
        if step % 100 == 0:
            pts = gen(torch.randn(500, args.latent)).detach().numpy()
            print(f"step {step}  critic {c_loss.item():+.4f}  generator {g_loss.item():+.4f}  "
                  "distance %.3f modes %d" % ring_distance(pts))


if __name__ == "__main__":
    main()
