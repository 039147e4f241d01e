"""Denoising diffusion on 16-dimensional sensor vectors, flax.nnx + optax."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

T = 50
DIM = 16
BATCH = 64
betas = jnp.linspace(1e-3, 0.15, T)
abar = jnp.cumprod(1.0 - betas)


def sample_data(rng, n):
    """sine waves with random phase and one of three frequencies"""
    t = np.linspace(0, 1, DIM)
    f = rng.choice([1.0, 2.0, 3.0], size=(n, 1))
    ph = rng.uniform(0, 2 * np.pi, size=(n, 1))
    return np.sin(2 * np.pi * f * t + ph).astype(np.float32)


class Denoiser(nnx.Module):
    def __init__(self, width, rngs):
        self.a = nnx.Linear(DIM + 8, width, rngs=rngs)
        self.b = nnx.Linear(width, width, rngs=rngs)
        self.c = nnx.Linear(width, DIM, rngs=rngs)

    def __call__(self, x, t):
        w = 2.0 ** jnp.arange(4)
        s = t[:, None] / T * w * jnp.pi
        h = jnp.concatenate([x, jnp.sin(s), jnp.cos(s)], -1)
        h = nnx.gelu(self.a(h))
        h = h + nnx.gelu(self.b(h))
        return self.c(h)


def diffusion_loss(model, x0, key):
    kt, ke = jax.random.split(key)
    t = jax.random.randint(kt, (x0.shape[0],), 0, T)
    eps = jax.random.normal(ke, x0.shape)
    a = abar[t][:, None]
    xt = jnp.sqrt(a) * x0 + jnp.sqrt(1 - a) * eps
    return jnp.mean((model(xt, t) - eps) ** 2)


@nnx.jit
def train_step(model, optimizer, x0, key):
    key, sub = jax.random.split(key)
    loss, grads = nnx.value_and_grad(diffusion_loss)(model, x0, sub)
    optimizer.update(model, grads)
    return loss


def main():
    rng = np.random.default_rng(0)
    model = Denoiser(256, nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    key = jax.random.PRNGKey(0)
    test = jnp.asarray(sample_data(rng, 4000))
    losses = []
    for step in range(2500):
        x0 = jnp.asarray(sample_data(rng, BATCH))
        losses.append(float(train_step(model, optimizer, x0, key)))
        if (step + 1) % 500 == 0:
            print(f"step {step + 1:5d}  noise mse {np.mean(losses[-500:]):.4f}")
    ev = diffusion_loss(model, test, jax.random.PRNGKey(123))
    print(f"noise prediction mse on new data: {float(ev):.4f}")


if __name__ == "__main__":
    main()
