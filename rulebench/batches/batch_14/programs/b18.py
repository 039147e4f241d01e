# two spirals with jax + optax
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
n = 500
t = np.sqrt(rng.uniform(0.05, 1, n)) * 2.5 * np.pi
lab = rng.integers(0, 2, n)
ang = t + np.pi * lab
X = np.stack([t * np.cos(ang), t * np.sin(ang)], 1) / 8 + rng.normal(0, 0.02, (n, 2))
X, Y = jnp.array(X), jnp.array(lab)


def init(key, sizes):
    ps = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        ps.append({"w": jax.random.normal(k, (a, b)) * jnp.sqrt(2 / a), "b": jnp.zeros(b)})
    return ps


def forward(ps, x):
    for p in ps[:-1]:
        x = jax.nn.relu(x @ p["w"] + p["b"])
    return x @ ps[-1]["w"] + ps[-1]["b"]


def loss_fn(ps, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(ps, x), y).mean()


params = init(jax.random.PRNGKey(0), [2, 64, 64, 2])
opt = optax.adam(3e-3)
opt_state = opt.init(params)


@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = opt.update(grads, opt_state, params)
    optax.apply_updates(params, updates)
    return params, opt_state, loss


for it in range(1500):
    idx = rng.integers(0, n, 128)
    params, opt_state, loss = step(params, opt_state, X[idx], Y[idx])
    if it % 250 == 0:
        print("iter", it, "loss", float(loss))

print("accuracy", float((forward(params, X).argmax(1) == Y).mean()))
