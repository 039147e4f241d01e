import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

d = load_digits()
rng = np.random.default_rng(0)
perm = rng.permutation(len(d.data))
X = jnp.array(d.data[perm] / 16.0, dtype=jnp.float32)
Y = jnp.array(d.target[perm])
Xtr, Ytr, Xte, Yte = X[:1400], Y[:1400], X[1400:], Y[1400:]

def init(key, sizes):
    params = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append({"w": jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), "b": jnp.zeros(o)})
    return params

def apply(params, x):
    for p in params[:-1]:
        x = jax.nn.relu(x @ p["w"] + p["b"])
    return x @ params[-1]["w"] + params[-1]["b"]

def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(apply(params, x), y).mean()

opt = optax.adam(2e-3)
params = init(jax.random.PRNGKey(0), [64, 64, 10])
opt_state = opt.init(params)

@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = opt.update(grads, opt_state, params)
    params = jax.tree_util.tree_map(lambda p, u: p - u, params, updates)
    return params, opt_state, loss

for epoch in range(10):
    order = rng.permutation(1400)
    losses = []
    for i in range(0, 1400, 50):
        b = order[i:i + 50]
        params, opt_state, l = step(params, opt_state, Xtr[b], Ytr[b])
        losses.append(float(l))
    acc = float((apply(params, Xte).argmax(1) == Yte).mean())
    print(f"epoch {epoch} loss {np.mean(losses):.4f} test acc {acc:.3f}")
