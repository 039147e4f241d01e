# flax.linen + optax: sequence classification (which of 4 oscillators produced the signal?)
import os
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import numpy as np
import jax, jax.numpy as jnp
import flax.linen as nn
import optax
from flax.training import train_state

rng = np.random.default_rng(5)


def signals(n, T=48):
    y = rng.integers(0, 4, n)
    t = np.arange(T)[None]
    f = rng.uniform(0.04, 0.10, (n, 1)); ph = rng.uniform(0, 6.28, (n, 1))
    arg = 2 * np.pi * f * t + ph
    sin, sq = np.sin(arg), np.sign(np.sin(arg))
    saw, am = (arg / np.pi) % 2 - 1, np.sin(arg) * np.cos(arg / 5)
    x = np.choose(y[:, None], [sin, sq, saw, am]) + 0.25 * rng.normal(size=(n, T))
    return x.astype("float32")[..., None], y


class ConvNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        for c in (16, 32):
            x = nn.relu(nn.Conv(c, (5,), strides=(2,))(x))
        x = nn.relu(nn.Conv(32, (3,))(x))
        x = jnp.concatenate([x.mean(1), x.max(1)], -1)
        return nn.Dense(4)(x)


xtr, ytr = signals(4000)
xte, yte = signals(1000)
model = ConvNet()
params = model.init(jax.random.PRNGKey(0), xtr[:1])
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.scale_by_adam(),
    optax.add_decayed_weights(1e-4),
    optax.scale_by_schedule(optax.cosine_decay_schedule(2e-3, 1000)),
)
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)


@jax.jit
def train_step(state, x, y):
    def loss_fn(p):
        logits = state.apply_fn(p, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    loss, g = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=g), loss


@jax.jit
def predict(state, x):
    return state.apply_fn(state.params, x).argmax(-1)


for i in range(1000):
    k = rng.integers(0, len(xtr), 64)
    state, loss = train_step(state, xtr[k], ytr[k])
    if i % 100 == 0:
        acc = float((predict(state, xte) == yte).mean())
        print(f"step {i} loss {float(loss):.4f} test acc {acc:.3f}")
print("final test accuracy:", float((predict(state, xte) == yte).mean()))
