import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

# plain JAX regression, params are a list of (W, b)
X, y = load_diabetes(return_X_y=True)
X = X / X.std(0)
mu, sd = y.mean(), y.std()
y = (y - mu) / sd
X_tr, X_te, y_tr, y_te = train_test_split(X.astype("f4"), y.astype("f4"), test_size=0.3, random_state=4)


def init(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append((jax.random.normal(k, (m, n)) * jnp.sqrt(1.0 / m), jnp.zeros(n)))
    return params


def predict(params, x):
    for W, b in params[:-1]:
        x = jnp.tanh(x @ W + b)
    W, b = params[-1]
    return x @ W + b


def loss_fn(params, x, y):
    l2 = sum(jnp.sum(W ** 2) for W, _ in params)
    return jnp.mean((predict(params, x) - y) ** 2) + 1e-3 * l2


tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))


@jax.jit
def update(params, state, x, y):
    loss, g = jax.value_and_grad(loss_fn)(params, x, y)
    upd, state = tx.update(g, state, params)
    return optax.apply_updates(params, upd), state, loss


params = init(jax.random.PRNGKey(0), [10, 16, 1])
state = tx.init(params)
rng = np.random.default_rng(0)
for epoch in range(150):
    order = rng.permutation(len(X_tr))
    losses = []
    for i in range(0, len(order) - 31, 32):
        j = order[i:i + 32]
        params, state, l = update(params, state, X_tr[j], y_tr[j])
        losses.append(float(l))
    if epoch % 15 == 0:
        print("epoch %3d | loss %.4f" % (epoch, np.mean(losses)))

pred = np.asarray(predict(params, X_te)).ravel()
rmse = np.sqrt(np.mean((pred - y_te) ** 2)) * sd
r2 = 1 - np.sum((pred - y_te) ** 2) / np.sum((y_te - y_te.mean()) ** 2)
print("test RMSE %.2f   R2 %.3f" % (rmse, r2))
