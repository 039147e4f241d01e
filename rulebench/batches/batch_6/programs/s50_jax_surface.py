# Surrogate model for a small simulator, plain JAX + optax
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(2)


def simulator(x):
    return np.sin(2 * x[:, 0]) * x[:, 1] + 0.5 * np.cos(3 * x[:, 2] + x[:, 3]) + 0.3 * x[:, 3] ** 2


x = rng.uniform(-1, 1, (3000, 4)).astype(np.float32)
y = simulator(x).astype(np.float32)
y = (y - y.mean()) / y.std() + 0.05 * rng.normal(size=3000).astype(np.float32)
xtr, ytr, xte, yte = x[:2400], y[:2400], x[2400:], y[2400:]


def init(key, sizes):
    params = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append({"w": jax.random.normal(k, (i, o)) * np.sqrt(1.0 / i), "b": jnp.zeros(o)})
    return params


def apply(params, x):
    for layer in params[:-1]:
        x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss_fn(params, x, y):
    return jnp.mean((apply(params, x) - y) ** 2)


TOTAL = 2000
tx = optax.adam(optax.cosine_decay_schedule(3e-3, TOTAL))


@jax.jit
def update(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, new_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss


params = init(jax.random.PRNGKey(0), [4, 96, 96, 1])
opt_state = tx.init(params)
for step in range(TOTAL):
    idx = rng.integers(0, len(xtr), 64)
    params, opt_state, loss = update(params, opt_state, xtr[idx], ytr[idx])
    if step % 200 == 0:
        print(f"step {step:4d} loss {loss:.4f}")
print(f"test rmse {np.sqrt(loss_fn(params, xte, yte)):.4f}")
