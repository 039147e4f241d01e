"""Evolution strategies for a cart-pole swing-free balance task. No backprop anywhere:
the search direction is estimated from the returns of antithetic perturbations."""
import jax
import jax.numpy as jnp
import optax

SEED = 0
POP, SIGMA, STEPS, EPISODES = 64, 0.1, 200, 2
SHAPES = [(4, 16), (16,), (16, 1), (1,)]


def unpack(v):
    out, i = [], 0
    for s in SHAPES:
        n = 1
        for d in s:
            n *= d
        out.append(v[i:i + n].reshape(s))
        i += n
    return out


DIM = sum(int(jnp.prod(jnp.array(s))) for s in SHAPES)


def policy(v, s):
    w1, b1, w2, b2 = unpack(v)
    return jnp.tanh(jnp.tanh(s @ w1 + b1) @ w2 + b2)[0]


def dynamics(s, force):
    x, xd, th, thd = s
    g, mc, mp, l, dt = 9.8, 1.0, 0.1, 0.5, 0.02
    tmp = (force + mp * l * thd ** 2 * jnp.sin(th)) / (mc + mp)
    a = (g * jnp.sin(th) - jnp.cos(th) * tmp) / (l * (4 / 3 - mp * jnp.cos(th) ** 2 / (mc + mp)))
    xa = tmp - mp * l * a * jnp.cos(th) / (mc + mp)
    return jnp.array([x + dt * xd, xd + dt * xa, th + dt * thd, thd + dt * a])


def episode(v, key):
    s0 = jax.random.uniform(key, (4,), minval=-0.2, maxval=0.2)

    def body(carry, _):
        s, alive = carry
        s = dynamics(s, 10.0 * policy(v, s))
        alive = alive * (jnp.abs(s[0]) < 2.4) * (jnp.abs(s[2]) < 0.21)
        s = jnp.where(alive > 0, s, jnp.zeros(4))
        return (s, alive), alive

    _, r = jax.lax.scan(body, (s0, 1.0), None, length=STEPS)
    return r.sum()


opt = optax.chain(optax.add_decayed_weights(1e-3), optax.adam(2e-2))


@jax.jit
def generation(theta, state, key):
    ke, kr = jax.random.split(key)
    eps = jax.random.normal(ke, (POP, DIM))
    eps = jnp.concatenate([eps, -eps])
    keys = jax.random.split(kr, EPISODES)          # the same starts for everybody
    ret = jax.vmap(lambda e: jax.vmap(lambda k: episode(theta + SIGMA * e, k))(keys).mean())(eps)
    # centred ranks instead of raw returns
    rank = ret.argsort().argsort() / (2 * POP - 1) - 0.5
    grad = -(rank @ eps) / (2 * POP * SIGMA)
    upd, state = opt.update(grad, state, theta)
    return optax.apply_updates(theta, upd), state, ret


key = jax.random.PRNGKey(SEED)
theta = jnp.zeros(DIM)
state = opt.init(theta)
test = jax.jit(lambda v, k: jax.vmap(lambda q: episode(v, q))(jax.random.split(k, 200)).mean())
print("before:", float(test(theta, jax.random.PRNGKey(999))))
for g in range(300):
    key, sub = jax.random.split(key)
    theta, state, ret = generation(theta, state, sub)
    if g % 30 == 29:
        print(f"generation {g + 1}: population mean {float(ret.mean()):.1f} best {float(ret.max()):.0f}")
print("mean steps balanced in 200 new starts (max 200): %.1f" % float(test(theta, jax.random.PRNGKey(999))))
