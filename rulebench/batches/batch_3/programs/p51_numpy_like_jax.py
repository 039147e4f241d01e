# MLP in raw JAX: full-batch gradient descent with a large step, no optimiser library
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import make_moons

SEED = 0
LR = 1.0
STEPS = 3000

X, y = make_moons(600, noise=0.15, random_state=SEED)
X, y = jnp.asarray(X), jnp.asarray(y, dtype=jnp.float32)
Xtr, ytr, Xte, yte = X[:400], y[:400], X[400:], y[400:]


def init(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(1.0 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for p in params[:-1]:
        x = jnp.tanh(x @ p["w"] + p["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss_fn(params, x, y):
    z = forward(params, x)
    return jnp.mean(jax.nn.softplus(z) - y * z)


@jax.jit
def update(params, x, y):
    loss, g = jax.value_and_grad(loss_fn)(params, x, y)
    return loss, jax.tree_util.tree_map(lambda p, d: p - LR * d, params, g)


params = init(jax.random.PRNGKey(SEED), [2, 32, 32, 1])
for step in range(STEPS):
    loss, params = update(params, Xtr, ytr)
    if step % 300 == 0:
        print(step, "loss", float(loss))
acc = lambda x, y: float(jnp.mean((forward(params, x) > 0) == (y > 0.5)))
print("train acc", acc(Xtr, ytr), "test acc", acc(Xte, yte))
