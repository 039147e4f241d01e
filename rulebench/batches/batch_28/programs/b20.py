import functools
import jax, jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# functional MLP with dropout
X, y = load_digits(return_X_y=True)
X = (X / 16.0 - 0.3).astype(np.float32)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=0)
X_tr, X_te, y_tr, y_te = map(jnp.asarray, (X_tr, X_te, y_tr, y_te))


def init_params(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [{"w": jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), "b": jnp.zeros(o)}
            for k, i, o in zip(keys, sizes[:-1], sizes[1:])]


def forward(params, x, key=None, rate=0.2):
    for j, p in enumerate(params):
        x = x @ p["w"] + p["b"]
        if j < len(params) - 1:
            x = jax.nn.relu(x)
            if key is not None:
                keep = jax.random.bernoulli(jax.random.fold_in(key, j), 1 - rate, x.shape)
                x = jnp.where(keep, x / (1 - rate), 0.0)
    return x


def loss_fn(params, xb, yb, key):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, xb, key), yb).mean()


tx = optax.adam(1e-3)


@jax.jit
def step(params, opt_state, key):
    k_batch, k_drop = jax.random.split(key)
    idx = jax.random.choice(k_batch, len(X_tr), (64,), replace=False)
    loss, grads = jax.value_and_grad(loss_fn)(params, X_tr[idx], y_tr[idx], k_drop)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params):
    return (forward(params, X_te).argmax(-1) == y_te).mean()


key = jax.random.PRNGKey(0)
key, sub = jax.random.split(key)
params = init_params(sub, [64, 128, 64, 10])
opt_state = tx.init(params)
for i in range(3000):
    params, opt_state, loss = step(params, opt_state, sub)
    if i % 300 == 0:
        print(f"step {i:5d}  loss {loss:.5f}  test acc {accuracy(params):.4f}")
print(f"final test accuracy {accuracy(params):.4f}")
