# deep ensemble in JAX: five small nets trained together with vmap, each on its own bootstrap sample
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-4, -1, 150), rng.uniform(1, 4, 150)])[:, None].astype(np.float32)
y = (np.sin(1.5 * x[:, 0]) + 0.1 * rng.normal(size=300)).astype(np.float32)
E = 5
boot = jnp.asarray(rng.integers(0, 300, (E, 300)))
xb, yb = jnp.asarray(x)[boot], jnp.asarray(y)[boot]


def init(key):
    a, b, c = jax.random.split(key, 3)
    return {"w1": jax.random.normal(a, (1, 50)) * 2.0, "b1": jax.random.uniform(b, (50,), minval=-4.0, maxval=4.0),
            "w2": jax.random.normal(c, (50,)) / jnp.sqrt(50.0), "b2": jnp.zeros(())}


def net(p, x):
    return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss(p, x, y):
    return jnp.mean((net(p, x) - y) ** 2)


@jax.jit
def step(params, mom, x, y, lr):
    val, g = jax.vmap(jax.value_and_grad(loss))(params, x, y)
    mom = jax.tree.map(lambda m, d: 0.9 * m + d, mom, g)
    params = jax.tree.map(lambda p, m: p - lr * m, params, mom)
    return params, mom, val


params = jax.vmap(init)(jax.random.split(jax.random.PRNGKey(0), E))
mom = jax.tree.map(jnp.zeros_like, params)
STEPS = 2000
for i in range(STEPS):
    lr = 0.01 * 0.5 * (1 + np.cos(np.pi * i / STEPS))
    params, mom, val = step(params, mom, xb, yb, lr)
    if (i + 1) % 400 == 0:
        print(i + 1, "member losses", np.round(np.asarray(val), 4))

grid = jnp.array([[-6.0], [-2.5], [0.0], [2.5], [6.0]])
pred = jax.vmap(net, in_axes=(0, None))(params, grid)
print("mean", np.round(np.asarray(pred.mean(0)), 2), "spread", np.round(np.asarray(pred.std(0)), 3))
xt = np.concatenate([rng.uniform(-4, -1, 100), rng.uniform(1, 4, 100)])[:, None].astype(np.float32)
m = jax.vmap(net, in_axes=(0, None))(params, jnp.asarray(xt)).mean(0)
print("test mse", float(jnp.mean((m - np.sin(1.5 * xt[:, 0])) ** 2)))
