"""Denoiser for small digit images, plain JAX + flax + optax."""
from dataclasses import dataclass

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from sklearn.datasets import load_digits


@dataclass
class Config:
    sigma: float = 0.5
    hidden: int = 128
    lr: float = 1e-3
    batch_size: int = 128
    steps: int = 1500
    seed: int = 0


cfg = Config()

data = load_digits().data.astype("float32") / 16.0
perm = np.random.default_rng(cfg.seed).permutation(len(data))
train_x, test_x = data[perm[:1408]], data[perm[1408:]]


class Denoiser(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(self.hidden)(x))
        h = nn.relu(nn.Dense(self.hidden)(h))
        return nn.Dense(x.shape[-1])(h)


key = jax.random.PRNGKey(cfg.seed)
init_key, noise_key = jax.random.split(key)
net = Denoiser(cfg.hidden)
params = net.init(init_key, jnp.zeros((1, 64)))["params"]
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(cfg.lr))


@jax.jit
def train_step(state, batch, rng):
    noise = cfg.sigma * jax.random.normal(rng, batch.shape)

    def loss_fn(p):
        pred = state.apply_fn({"params": p}, batch + noise)
        return jnp.mean((pred - batch) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


@jax.jit
def denoise(params, noisy):
    return net.apply({"params": params}, noisy)


sampler = np.random.default_rng(1)
running = []
for step in range(1, cfg.steps + 1):
    idx = sampler.integers(0, len(train_x), cfg.batch_size)
    state, loss = train_step(state, train_x[idx], noise_key)
    running.append(float(loss))
    if step % 250 == 0:
        print(f"step {step:5d}  mse {np.mean(running[-250:]):.5f}")

test_noise = np.random.default_rng(99).normal(size=test_x.shape).astype("float32") * cfg.sigma
noisy = test_x + test_noise
clean = np.asarray(denoise(state.params, noisy))
print("noisy input mse  :", float(np.mean((noisy - test_x) ** 2)))
print("denoised test mse:", float(np.mean((clean - test_x) ** 2)))
