"""Differentially private logistic/MLP training (DP-SGD, Abadi et al. 2016) in JAX."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import make_classification

SEED = 4
CLIP, SIGMA, RATE, N = 0.5, 1.0, 0.05, 8000

X, y = make_classification(N + 2000, 15, n_informative=8, n_redundant=2, class_sep=1.3, random_state=SEED)
X = np.clip(X / 3.0, -2, 2).astype(np.float32)
Xtr, ytr, Xte, yte = X[:N], y[:N], X[N:], y[N:]


def init(key):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (15, 24)) / np.sqrt(15), "b1": jnp.zeros(24),
            "w2": jax.random.normal(k2, (24,)) / np.sqrt(24), "b2": jnp.zeros(())}


def logit(p, x):
    return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss(p, x, y):
    return optax.sigmoid_binary_cross_entropy(logit(p, x), y)


opt = optax.sgd(0.5, momentum=0.5)
M = 520      # room for a Poisson-sampled lot; rows beyond it are masked out


@jax.jit
def step(p, s, key, x, y, keep):
    g = jax.vmap(jax.grad(loss), (None, 0, 0))(p, x, y)
    sq = sum(jnp.sum(v.reshape(M, -1) ** 2, 1) for v in jax.tree.leaves(g))
    scale = keep * jnp.minimum(1.0, CLIP / (jnp.sqrt(sq) + 1e-9))
    total = jax.tree.map(lambda v: jnp.tensordot(scale, v, 1), g)
    leaves, tree = jax.tree.flatten(total)
    keys = jax.random.split(key, len(leaves))
    noisy = [(v + SIGMA * CLIP * jax.random.normal(k, v.shape)) / (RATE * N) for v, k in zip(leaves, keys)]
    upd, s = opt.update(jax.tree.unflatten(tree, noisy), s, p)
    return optax.apply_updates(p, upd), s


key = jax.random.PRNGKey(SEED)
key, k0 = jax.random.split(key)
params = init(k0)
state = opt.init(params)
rng = np.random.default_rng(SEED)
for t in range(1200):
    lot = np.flatnonzero(rng.random(N) < RATE)[:M]
    keep = np.zeros(M, np.float32)
    keep[:len(lot)] = 1
    lot = np.pad(lot, (0, M - len(lot)))
    key, sub = jax.random.split(key)
    params, state = step(params, state, sub, Xtr[lot], ytr[lot].astype(np.float32), keep)
    if t % 120 == 0:
        print(f"step {t:4d} lot {int(keep.sum())} train loss {loss(params, Xtr, ytr).mean():.4f}")
print("test accuracy %.4f" % ((logit(params, Xte) > 0) == yte).mean())
