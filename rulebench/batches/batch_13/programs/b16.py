# plain JAX softmax MLP on digits, SGD with momentum written by hand
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

d = load_digits()
rng = np.random.default_rng(0)
p = rng.permutation(len(d.target))
X, Y = (d.data[p] / 16.0).astype(np.float32), d.target[p]
Xtr, Ytr, Xte, Yte = X[:1400], Y[:1400], X[1400:], Y[1400:]

k1, k2 = jax.random.split(jax.random.PRNGKey(5))
params = {
    "W1": jax.random.normal(k1, (64, 64)) * (2 / 64) ** 0.5, "b1": jnp.zeros(64),
    "W2": jax.random.normal(k2, (64, 10)) * (1 / 64) ** 0.5, "b2": jnp.zeros(10),
}
velocity = jax.tree.map(jnp.zeros_like, params)

def logits(params, x, key=None, rate=0.2):
    h = jnp.maximum(x @ params["W1"] + params["b1"], 0)
    if key is not None:
        mask = jax.random.bernoulli(key, 1 - rate, h.shape)
        h = jnp.where(mask, h / (1 - rate), 0.0)
    return h @ params["W2"] + params["b2"]

def loss(params, x, y, key):
    lp = jax.nn.log_softmax(logits(params, x, key))
    nll = -jnp.take_along_axis(lp, y[:, None], axis=1).mean()
    l2 = sum((params[k] ** 2).sum() for k in ("W1", "W2"))
    return nll + 1e-4 * l2

@jax.jit
def step(params, velocity, x, y, key, lr):
    value, g = jax.value_and_grad(loss)(params, x, y, key)
    velocity = jax.tree.map(lambda v, gi: 0.9 * v + gi, velocity, g)
    params = jax.tree.map(lambda w, v: w - lr * v, params, velocity)
    return params, velocity, value

key = jax.random.PRNGKey(9)
for epoch in range(20):
    lr = 0.05 if epoch < 14 else 0.01
    order = rng.permutation(len(Xtr))[:1344].reshape(-1, 32)
    tot = 0.0
    for b in order:
        key, sub = jax.random.split(key)
        params, velocity, v = step(params, velocity, Xtr[b], Ytr[b], sub, lr)
        tot += float(v)
    if epoch % 4 == 3:
        acc = (logits(params, Xte).argmax(1) == Yte).mean()
        print(f"epoch {epoch+1} loss {tot/len(order):.4f} test acc {float(acc):.3f}")
