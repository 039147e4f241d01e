"""Fit a small net in JAX: warm-up + cosine schedule, gradient clipping, weight averaging."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(305)
N = 2000
X = rng.uniform(-2, 2, (N, 3)).astype(np.float32)
Y = (np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] ** 2 + rng.normal(0, 0.1, N)).astype(np.float32)
Xt, Yt, Xv, Yv = X[:1600], Y[:1600], X[1600:], Y[1600:]


def init(key):
    k1, k2, k3 = jax.random.split(key, 3)
    he = lambda k, i, o: jax.random.normal(k, (i, o)) * jnp.sqrt(2 / i)
    return {"w1": he(k1, 3, 64), "b1": jnp.zeros(64), "w2": he(k2, 64, 64), "b2": jnp.zeros(64),
            "w3": he(k3, 64, 1), "b3": jnp.zeros(1)}


def net(p, x):
    h = jnp.tanh(x @ p["w1"] + p["b1"])
    h = jnp.tanh(h @ p["w2"] + p["b2"])
    return (h @ p["w3"] + p["b3"])[:, 0]


def loss_fn(p, x, y):
    return jnp.mean((net(p, x) - y) ** 2)


EPOCHS, B = 40, 64
steps = EPOCHS * (len(Xt) // B)
schedule = optax.warmup_cosine_decay_schedule(0.0, 5e-3, 100, steps, 1e-5)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))
params = init(jax.random.key(1))
state = tx.init(params)
ema = params


@jax.jit
def step(params, state, ema, x, y):
    loss, g = jax.value_and_grad(loss_fn)(params, x, y)
    up, state = tx.update(g, state, params)
    params = optax.apply_updates(params, up)
    ema = optax.incremental_update(params, ema, 0.02)
    return params, state, ema, loss


for epoch in range(EPOCHS):
    order = rng.permutation(len(Xt))
    tot = 0.0
    for i in range(0, len(Xt) - B + 1, B):
        j = order[i:i + B]
        params, state, ema, loss = step(params, state, ema, Xt[j], Yt[j])
        tot += float(loss)
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} train {tot / (len(Xt) // B):.4f} val {float(loss_fn(params, Xv, Yv)):.4f} "
              f"val (averaged) {float(loss_fn(ema, Xv, Yv)):.4f}  target var {Yv.var():.3f}")
