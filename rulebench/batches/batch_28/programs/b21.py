"""Swing a pendulum up by backpropagating through the simulator (no data set, no reward model)."""
import jax
import jax.numpy as jnp
import optax

SEED = 0
DT, H, UMAX = 0.05, 80, 12.0


def init(key):
    k1, k2, k3 = jax.random.split(key, 3)
    n = jax.nn.initializers.orthogonal()
    return {"w1": n(k1, (3, 32)), "b1": jnp.zeros(32), "w2": n(k2, (32, 32)), "b2": jnp.zeros(32),
            "w3": 0.01 * n(k3, (32, 1)), "b3": jnp.zeros(1)}


def policy(p, s):
    th, om = s
    o = jnp.stack([jnp.cos(th), jnp.sin(th), om / 5.0])
    h = jnp.tanh(o @ p["w1"] + p["b1"])
    h = jnp.tanh(h @ p["w2"] + p["b2"])
    return UMAX * jnp.tanh((h @ p["w3"] + p["b3"])[0])


def step(p, s, _):
    u = policy(p, s)
    th, om = s
    om = om + DT * (9.81 * jnp.sin(th) - 0.1 * om + u)     # theta = 0 is upright
    th = th + DT * om
    cost = (1 - jnp.cos(th)) + 0.02 * om ** 2 + 0.001 * u ** 2
    return (th, om), cost


def rollout(p, s0):
    s, costs = jax.lax.scan(lambda s, _: step(p, s, _), s0, None, length=H)
    return costs, s


def starts(key, n):
    a, b = jax.random.split(key)
    return jax.random.uniform(a, (n,), minval=-jnp.pi, maxval=jnp.pi), jax.random.normal(b, (n,))


def objective(p, key):
    costs, _ = jax.vmap(rollout, (None, 0))(p, starts(key, 64))
    return costs.mean()


tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(5e-3, 1500)))


@jax.jit
def update(p, o, key):
    l, g = jax.value_and_grad(objective)(p, key)
    up, o = tx.update(g, o)
    return optax.apply_updates(p, up), o, l


@jax.jit
def upright(p, key):
    _, (th, om) = jax.vmap(rollout, (None, 0))(p, starts(key, 500))
    return jnp.mean((jnp.cos(th) > 0.95) & (jnp.abs(om) < 0.5))


key = jax.random.PRNGKey(0)
key, k = jax.random.split(key)
params = init(k)
opt = tx.init(params)
for i in range(1500):
    key, k = jax.random.split(key)
    params, opt, l = update(params, opt, k)
    if i % 150 == 0:
        print(f"{i:5d} cost {l:.4f}")
key, k = jax.random.split(key)
print("share of 500 new starts that end upright and at rest: %.3f (untrained %.3f)" % (
    upright(params, k), upright(init(jax.random.PRNGKey(99)), k)))
