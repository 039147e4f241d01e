# Plain JAX: small MLP regression, everything in bfloat16 to save memory.
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import make_friedman2

X, y = make_friedman2(4000, noise=20.0, random_state=8)
X = (X - X.mean(0)) / X.std(0)
y = (y - y.mean()) / y.std()
Xtr, ytr, Xte, yte = X[:3000], y[:3000], X[3000:], y[3000:]
param_dtype = jnp.bfloat16
compute_dtype = jnp.bfloat16


def init(key, sizes):
    params = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append({"w": (jax.random.normal(k, (i, o)) * np.sqrt(2 / i)).astype(param_dtype),
                       "b": jnp.zeros((o,), param_dtype)})
    return params


def forward(params, x):
    h = x.astype(compute_dtype)
    for n, layer in enumerate(params):
        h = h @ layer["w"].astype(compute_dtype) + layer["b"].astype(compute_dtype)
        if n < len(params) - 1:
            h = jax.nn.relu(h)
    return h[:, 0].astype(jnp.float32)


def mse(params, x, t):
    return jnp.mean((forward(params, x) - t) ** 2)


@jax.jit
def update(params, vel, x, t, lr):
    l, g = jax.value_and_grad(mse)(params, x, t)
    vel = jax.tree.map(lambda v, d: (0.5 * v + d.astype(v.dtype)), vel, g)
    params = jax.tree.map(lambda p, v: (p - lr * v).astype(p.dtype), params, vel)
    return params, vel, l


params = init(jax.random.PRNGKey(3), [4, 128, 128, 1])
vel = jax.tree.map(jnp.zeros_like, params)
rng = np.random.default_rng(0)
for epoch in range(30):
    order = rng.permutation(len(Xtr))
    losses = []
    for k in range(0, len(order), 60):
        b = order[k:k + 60]
        params, vel, l = update(params, vel, jnp.asarray(Xtr[b]), jnp.asarray(ytr[b]), 1e-3)
        losses.append(float(l))
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "train mse %.4f" % np.mean(losses),
              "test mse %.4f" % float(mse(params, jnp.asarray(Xte), jnp.asarray(yte))))
print("done. test mse = %.4f" % float(mse(params, jnp.asarray(Xte), jnp.asarray(yte))))
