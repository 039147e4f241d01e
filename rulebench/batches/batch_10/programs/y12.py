import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(29)
N, D = 4000, 10
X = rng.normal(size=(N, D)).astype("float32")
y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.2 * rng.normal(size=N)).astype("float32")
Xtr, ytr, Xte, yte = X[:3000], y[:3000], X[3000:], y[3000:]
Xtr, ytr = jnp.array(Xtr), jnp.array(ytr)


def init(key, sizes):
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append({"w": jax.random.normal(sub, (a, b)) * jnp.sqrt(2.0 / a), "b": jnp.zeros(b)})
    return params


def forward(params, x):
    for p in params[:-1]:
        x = jax.nn.relu(x @ p["w"] + p["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss_fn(params, x, t):
    return jnp.mean((forward(params, x) - t) ** 2)


opt = optax.adam(2e-3)


@jax.jit
def train_step(params, state, key):
    idx = jax.random.choice(key, Xtr.shape[0], (64,), replace=False)
    loss, grads = jax.value_and_grad(loss_fn)(params, Xtr[idx], ytr[idx])
    updates, state = opt.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


key = jax.random.PRNGKey(0)
params = init(key, [D, 64, 64, 1])
state = opt.init(params)
for step in range(3000):
    params, state, loss = train_step(params, state, key)
    if step % 250 == 0:
        print(step, "batch loss %.4f  test loss %.4f" % (loss, loss_fn(params, Xte, yte)))
print("final test mse", loss_fn(params, Xte, yte), "variance of target", yte.var())
