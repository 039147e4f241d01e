import time
import jax, jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

SEED = 0
X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32) / 16.0
perm = np.random.RandomState(SEED).permutation(len(X))
X, Y = X[perm], Y[perm]
Xtr, Ytr, Xte, Yte = map(jnp.asarray, (X[:1300], Y[:1300], X[1300:], Y[1300:]))


def init_mlp(key, sizes):
    params = []
    for k, m, n in zip(jax.random.split(key, len(sizes)), sizes[:-1], sizes[1:]):
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


tx = optax.adam(1e-3)


@jax.jit
def update(params, state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


@jax.jit
def draw_batch(key):
    idx = jax.random.choice(key, len(Xtr), (64,), replace=False)
    return Xtr[idx], Ytr[idx]


key = jax.random.PRNGKey(SEED)
key, init_key = jax.random.split(key)
params = init_mlp(init_key, [64, 128, 64, 10])
state = tx.init(params)

t0 = time.time()
for epoch in range(40):
    losses = []
    for it in range(20):
        xb, yb = draw_batch(key)
        params, state, loss = update(params, state, xb, yb)
        losses.append(float(loss))
    if epoch % 4 == 0:
        print(f"epoch {epoch:3d} loss {np.mean(losses):.4f} ({time.time() - t0:.1f}s)")

acc = (forward(params, Xte).argmax(-1) == Yte).mean()
print("held-out accuracy: %.4f" % float(acc))
