"""Iterative magnitude pruning with rewinding (lottery tickets) on the digits, in plain JAX."""
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

SEED = 0
rng = np.random.default_rng(SEED)
d = load_digits()
order = rng.permutation(len(d.data))
X = (d.data[order] / 16.0).astype(np.float32)
Y = d.target[order]
x_tr, y_tr, x_te, y_te = X[:1300], Y[:1300], X[1300:], Y[1300:]

shapes = [(64, 200), (200, 100), (100, 10)]
start = {}
for i, (a, b) in enumerate(shapes):
    start[f"w{i}"] = jnp.asarray(rng.normal(0, np.sqrt(2 / a), (a, b)), jnp.float32)
    start[f"b{i}"] = jnp.zeros(b)
mask = {k: jnp.ones_like(v) for k, v in start.items()}


def net(p, x):
    for i in range(2):
        x = jax.nn.relu(x @ p[f"w{i}"] + p[f"b{i}"])
    return x @ p["w2"] + p["b2"]


def loss(p, x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(net(p, x)), y[:, None], 1).mean()


@jax.jit
def step(p, m, v, mask, x, y, lr):
    l, g = jax.value_and_grad(loss)(p, x, y)
    g = jax.tree.map(lambda a, k: a * k, g, mask)
    v = jax.tree.map(lambda a, b: 0.9 * a + b, v, g)
    p = jax.tree.map(lambda a, b, k: (a - lr * b) * k, p, v, mask)
    return p, m, v, l


def train(p, mask, steps):
    p = jax.tree.map(lambda a, k: a * k, p, mask)
    v = jax.tree.map(jnp.zeros_like, p)
    m = None
    for t in range(steps):
        idx = rng.integers(0, len(x_tr), 64)
        lr = 0.05 * (1 - t / steps)
        p, m, v, l = step(p, m, v, mask, x_tr[idx], y_tr[idx], lr)
        if t % 300 == 0:
            print(f"    step {t:4d} loss {l:.4f}")
    return p


def test_acc(p):
    return float((net(p, x_te).argmax(-1) == y_te).mean())


# a short warm-up gives the point to which every ticket is rewound
anchor = train(start, mask, 100)
for rnd in range(6):
    p = train(anchor, mask, 1500)
    alive = sum(float(mask[f"w{i}"].sum()) for i in range(3)) / sum(a * b for a, b in shapes)
    print(f"round {rnd}: {alive:6.1%} of the weights alive, test accuracy {test_acc(p):.4f}")
    if rnd == 5:
        break
    for i in range(3):                       # drop 40 % of what is left, layer by layer
        w = np.abs(np.asarray(p[f"w{i}"]))
        live = w[np.asarray(mask[f"w{i}"]) > 0]
        mask[f"w{i}"] = jnp.asarray((w > np.quantile(live, 0.4)) & (np.asarray(mask[f"w{i}"]) > 0), jnp.float32)
zeros = np.mean([float((p[f"w{i}"] == 0).mean()) for i in range(3)])
print(f"final sparse network: {zeros:.1%} zeros, test accuracy {test_acc(p):.4f}")
