"""Physics-informed network for the damped oscillator  u'' + 2*z*w*u' + w^2*u = 0.

No measured data at all: the loss is the squared residual at random times, and the initial
conditions u(0)=1, u'(0)=0 are built into the ansatz u = 1 + tanh(t)^2 * N(t).
"""
import jax, jax.numpy as jnp, numpy as np
import optax
import flax.linen as nn

SEED = 0
W0, ZETA, T = 4.0, 0.15, 3.0


class Net(nn.Module):
    @nn.compact
    def __call__(self, t):
        h = jnp.stack([t / T, jnp.sin(2 * t), jnp.cos(2 * t), jnp.sin(4 * t), jnp.cos(4 * t)])
        for _ in range(2):
            h = jnp.tanh(nn.Dense(32)(h))
        return nn.Dense(1)(h)[0]


net = Net()
params = net.init(jax.random.PRNGKey(SEED), jnp.float32(0.0))


def u(p, t):
    return 1.0 + jnp.tanh(t) ** 2 * net.apply(p, t)


def residual(p, t):
    du = jax.grad(u, argnums=1)
    d2u = jax.grad(du, argnums=1)
    return d2u(p, t) + 2 * ZETA * W0 * du(p, t) + W0 ** 2 * u(p, t)


def loss_fn(p, ts):
    r = jax.vmap(residual, (None, 0))(p, ts)
    return jnp.mean(r ** 2)


STEPS = 7000
tx = optax.adam(optax.cosine_decay_schedule(5e-3, STEPS, alpha=0.01))
opt_state = tx.init(params)


@jax.jit
def step(p, s, key):
    ts = jax.random.uniform(key, (64,), minval=0.0, maxval=T)
    l, g = jax.value_and_grad(loss_fn)(p, ts)
    up, s = tx.update(g, s)
    return optax.apply_updates(p, up), s, l


key = jax.random.PRNGKey(SEED + 100)
for i in range(STEPS):
    key, k = jax.random.split(key)
    params, opt_state, l = step(params, opt_state, k)
    if i % 1000 == 0:
        print(f"step {i} residual loss {float(l):.5f}")

t = np.linspace(0, T, 400)
wd = W0 * np.sqrt(1 - ZETA ** 2)
exact = np.exp(-ZETA * W0 * t) * (np.cos(wd * t) + ZETA * W0 / wd * np.sin(wd * t))
pred = np.asarray(jax.vmap(u, (None, 0))(params, jnp.asarray(t, jnp.float32)))
print("relative L2 error vs analytic solution: %.5f" % (np.linalg.norm(pred - exact) / np.linalg.norm(exact)))
