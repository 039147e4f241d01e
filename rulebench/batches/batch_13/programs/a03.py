"""Wasserstein GAN with a gradient penalty for a crescent of points."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import make_moons


def mlp(n_in, n_out, width, act):
    return keras.Sequential([
        layers.Input((n_in,)),
        layers.Dense(width, activation=act),
        layers.Dense(width, activation=act),
        layers.Dense(n_out),
    ])


class WGAN(keras.Model):
    def __init__(self, latent, n_critic, gp):
        super().__init__()
        self.latent, self.n_critic, self.gp = latent, n_critic, gp
        self.gen = mlp(latent, 2, 64, "relu")
        self.critic = mlp(2, 1, 64, "silu")
        self.c_track = keras.metrics.Mean(name="critic")
        self.g_track = keras.metrics.Mean(name="gen")

    def compile(self, c_opt, g_opt):
        super().compile()
        self.c_opt, self.g_opt = c_opt, g_opt

    @property
    def metrics(self):
        return [self.c_track, self.g_track]

    def call(self, x):
        return self.critic(x)

    def _apply(self, loss, net, opt):
        self.zero_grad()
        loss.backward()
        ws = net.trainable_weights
        grads = [w.value.grad for w in ws]
        with torch.no_grad():
            opt.apply(grads, ws)

    def penalty(self, real, fake):
        a = torch.rand(len(real), 1)
        mid = (a * real + (1 - a) * fake).requires_grad_(True)
        g, = torch.autograd.grad(self.critic(mid).sum(), mid, create_graph=True)
        return ((g.norm(dim=1) - 1) ** 2).mean()

    def train_step(self, data):
        real = data[0] if isinstance(data, (tuple, list)) else data
        real = torch.as_tensor(real, dtype=torch.float32)
        chunks = real.chunk(self.n_critic)
        for part in chunks:
            with torch.no_grad():
                fake = self.gen(torch.randn(len(part), self.latent))
            c_loss = (self.critic(fake).mean() - self.critic(part).mean()
                      + self.gp * self.penalty(part, fake))
            self._apply(c_loss, self.critic, self.c_opt)
            self.c_track.update_state(c_loss.detach())
        g_loss = -self.critic(self.gen(torch.randn(len(chunks[0]), self.latent))).mean()
        self._apply(g_loss, self.gen, self.g_opt)
        self.g_track.update_state(g_loss.detach())
        return {m.name: m.result() for m in self.metrics}


def sliced_distance(a, b, rng, k=64):
    out = []
    for th in rng.uniform(0, np.pi, k):
        d = np.array([np.cos(th), np.sin(th)])
        out.append(np.abs(np.sort(a @ d) - np.sort(b @ d)).mean())
    return float(np.mean(out))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=250)
    ap.add_argument("--latent", type=int, default=4)
    ap.add_argument("--n-critic", type=int, default=4)
    args = ap.parse_args()
    keras.utils.set_random_seed(12)
    rng = np.random.default_rng(12)
    x, _ = make_moons(2048, noise=0.05, random_state=12)
    x = ((x - x.mean(0)) / x.std(0)).astype("float32")

    gan = WGAN(args.latent, args.n_critic, gp=1.0)
    gan.compile(keras.optimizers.Adam(2e-3, beta_1=0.0, beta_2=0.9),
                keras.optimizers.Adam(3e-4, beta_1=0.0, beta_2=0.9))
    z = rng.normal(size=(2048, args.latent)).astype("float32")
    print("before: sliced distance %.4f" % sliced_distance(gan.gen.predict(z, verbose=0), x, rng))
    gan.fit(x, batch_size=512, epochs=args.epochs, verbose=2)
    print("after:  sliced distance %.4f" % sliced_distance(gan.gen.predict(z, verbose=0), x, rng))


if __name__ == "__main__":
    main()
