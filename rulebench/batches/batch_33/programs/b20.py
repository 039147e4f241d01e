# Evolution strategies (antithetic, rank-shaped) for pendulum swing-up, in plain JAX + optax.
# The estimate goes through optax like any gradient; there is no backprop.
import jax
import jax.numpy as jnp
import optax

SEED = 1
POP, SIGMA, HID, T = 32, 0.1, 16, 150


def unpack(v):
    a, b = 3 * HID, 3 * HID + HID
    return v[:a].reshape(3, HID), v[a:b], v[b:b + HID]


def policy(v, s):
    w, b, o = unpack(v)
    obs = jnp.array([jnp.cos(s[0]), jnp.sin(s[0]), s[1] / 4.0])
    return 2.0 * jnp.tanh(jnp.tanh(obs @ w + b) @ o)


def episode(v, key):
    s0 = jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0) * jnp.array([jnp.pi, 1.0])

    def step(s, _):
        u = policy(v, s)
        thd = jnp.clip(s[1] + (15.0 * jnp.sin(s[0]) * 0.5 + 3.0 * u) * 0.05, -8, 8)
        th = s[0] + thd * 0.05
        ang = jnp.mod(th + jnp.pi, 2 * jnp.pi) - jnp.pi
        return jnp.array([th, thd]), -(ang ** 2 + 0.1 * thd ** 2 + 0.001 * u ** 2)

    _, r = jax.lax.scan(step, s0, None, length=T)
    return r.mean()


def fitness(v, keys):
    return jax.vmap(lambda k: episode(v, k))(keys).mean()


opt = optax.chain(optax.add_decayed_weights(0.003), optax.adam(0.02))


@jax.jit
def es_step(v, opt_state, key):
    k1, k2 = jax.random.split(key)
    eps = jax.random.normal(k1, (POP, v.size))
    eps = jnp.concatenate([eps, -eps])
    keys = jax.random.split(k2, 8)
    f = jax.vmap(lambda e: fitness(v + SIGMA * e, keys))(eps)
    ranks = jnp.argsort(jnp.argsort(f)) / (2 * POP - 1) - 0.5
    g = -(ranks @ eps) / (2 * POP * SIGMA)
    upd, opt_state = opt.update(g, opt_state, v)
    return optax.apply_updates(v, upd), opt_state, f.mean(), f.max()


key = jax.random.PRNGKey(1)
key, k = jax.random.split(key)
v = 0.3 * jax.random.normal(k, (5 * HID,))
state = opt.init(v)
test_keys = jax.random.split(jax.random.PRNGKey(1234), 64)
test = jax.jit(lambda v: fitness(v, test_keys))
print(f"start: {float(test(v)):.3f}")
for gen in range(1, 501):
    key, k = jax.random.split(key)
    v, state, mean, best = es_step(v, state, k)
    if gen % 50 == 0:
        print(f"gen {gen:4d} population mean {float(mean):.3f} best {float(best):.3f} test {float(test(v)):.3f}")
print(f"mean reward on 64 unseen starts: {float(test(v)):.4f}")
