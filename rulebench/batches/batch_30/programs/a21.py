# HW3: deep MLP in pure JAX, no libraries for the layers
import jax, jax.numpy as jnp
import numpy as np
from jax import random, jit, value_and_grad
from sklearn.datasets import load_digits

data = load_digits()
X = data.data.astype(np.float32)
X = (X - X.mean()) / X.std()
y = data.target
p = np.random.RandomState(0).permutation(len(X))
X, y = X[p], y[p]
Xtr, ytr, Xte, yte = X[:1300], y[:1300], X[1300:], y[1300:]


def init_mlp(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [(random.normal(k, (n_in, n_out)), jnp.zeros((n_out,)))
            for k, n_in, n_out in zip(keys, sizes[:-1], sizes[1:])]


def forward(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y):
    logp = jax.nn.log_softmax(forward(params, x), axis=-1)
    return -jnp.mean(jnp.take_along_axis(logp, y[:, None], axis=1))


@jit
def update(params, vel, x, y, lr):
    loss, grads = value_and_grad(loss_fn)(params, x, y)
    vel = jax.tree_util.tree_map(lambda v, g: 0.9 * v - lr * g, vel, grads)
    params = jax.tree_util.tree_map(lambda p, v: p + v, params, vel)
    return params, vel, loss


@jit
def accuracy(params, x, y):
    return jnp.mean(forward(params, x).argmax(1) == y)


params = init_mlp(random.PRNGKey(1), [64, 128, 128, 128, 128, 10])
vel = jax.tree_util.tree_map(jnp.zeros_like, params)
rs = np.random.RandomState(1)
for epoch in range(40):
    perm = rs.permutation(len(Xtr))
    losses = []
    for i in range(0, len(perm) - 50 + 1, 50):
        b = perm[i:i + 50]
        params, vel, l = update(params, vel, Xtr[b], ytr[b], 0.01)
        losses.append(float(l))
    if epoch % 5 == 4:
        print("Epoch", epoch + 1, "loss %.4f" % np.mean(losses), "train acc %.3f" % accuracy(params, Xtr, ytr),
              "test acc %.3f" % accuracy(params, Xte, yte))
print("Test accuracy: %.4f" % accuracy(params, Xte, yte))
