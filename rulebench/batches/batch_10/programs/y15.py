import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

d = load_digits()
rng = np.random.default_rng(304)
p = rng.permutation(len(d.data))
X = (d.data[p] / 16.0).astype("float32")
y = d.target[p]
Xtr, ytr, Xte, yte = X[:1400], y[:1400], X[1400:], y[1400:]
EPOCHS, BS = 15, 50
steps = EPOCHS * (1400 // BS)
sched = optax.warmup_cosine_decay_schedule(0.0, 5e-3, warmup_steps=steps // 10, decay_steps=steps, end_value=1e-5)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sched, weight_decay=1e-3))


def init(key):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (64, 96)) * (2 / 64) ** 0.5, "b1": jnp.zeros(96),
            "w2": jax.random.normal(k2, (96, 10)) * (1 / 96) ** 0.5, "b2": jnp.zeros(10)}


def net(p, x, key=None, rate=0.2):
    h = jax.nn.relu(x @ p["w1"] + p["b1"])
    if key is not None:
        h = h * jax.random.bernoulli(key, 1 - rate, h.shape) / (1 - rate)
    return h @ p["w2"] + p["b2"]


def loss(p, x, t, key):
    return optax.softmax_cross_entropy_with_integer_labels(net(p, x, key), t).mean()


@jax.jit
def step(p, s, x, t, key):
    l, g = jax.value_and_grad(loss)(p, x, t, key)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, l


key = jax.random.PRNGKey(304)
key, sub = jax.random.split(key)
params = init(sub)
state = tx.init(params)
for epoch in range(EPOCHS):
    order = rng.permutation(1400)
    ls = []
    for i in range(0, 1400, BS):
        key, sub = jax.random.split(key)
        b = order[i:i + BS]
        params, state, l = step(params, state, Xtr[b], ytr[b], sub)
        ls.append(float(l))
    acc = float((net(params, Xte).argmax(1) == yte).mean())
    print(f"epoch {epoch} loss {np.mean(ls):.4f} test acc {acc:.4f}")
