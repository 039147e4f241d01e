"""Two-layer network in JAX with optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split((X / 16).astype(np.float32), y, test_size=0.25, random_state=5)
X_tr, X_te, y_tr, y_te = map(jnp.asarray, (X_tr, X_te, y_tr, y_te))

key = jax.random.PRNGKey(0)


def init(key, sizes):
    ps = []
    for k, (i, o) in zip(jax.random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:])):
        ps.append({"w": jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), "b": jnp.zeros(o)})
    return ps


def forward(params, x):
    for p in params[:-1]:
        x = jax.nn.relu(x @ p["w"] + p["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


tx = optax.adam(1e-3)


@jax.jit
def step(params, state, key):
    idx = jax.random.choice(key, X_tr.shape[0], (32,), replace=False)
    loss, grads = jax.value_and_grad(loss_fn)(params, X_tr[idx], y_tr[idx])
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


accuracy = jax.jit(lambda p, x, y: (forward(p, x).argmax(-1) == y).mean())

key, init_key = jax.random.split(key)
params = init(init_key, [64, 128, 64, 10])
state = tx.init(params)
for i in range(1, 1501):
    params, state, loss = step(params, state, key)
    if i % 150 == 0:
        print(f"step {i:5d} loss {loss:.4f} train acc {accuracy(params, X_tr, y_tr):.3f} "
              f"test acc {accuracy(params, X_te, y_te):.3f}")
