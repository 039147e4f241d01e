"""PINN for  u'' + u' + 4u = 0  with u(0)=1, u'(0)=0 on [0, 4]; no data, only the equation."""
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

SEED = 18
jax.config.update("jax_enable_x64", True)


class Field(nn.Module):
    @nn.compact
    def __call__(self, t):
        h = jnp.atleast_1d(t) / 2 - 1
        for _ in range(2):
            h = jnp.tanh(nn.Dense(32, param_dtype=jnp.float64)(h))
        return nn.Dense(1, param_dtype=jnp.float64)(h)[0]


net = Field()
params = net.init(jax.random.PRNGKey(SEED), jnp.array(0.0))
ts = jnp.linspace(0.0, 4.0, 64)      # collocation points


def residual(params, t):
    u = lambda s: net.apply(params, s)
    du = jax.grad(u)
    return jax.grad(du)(t) + du(t) + 4 * u(t)


def loss_fn(params):
    r = jax.vmap(residual, (None, 0))(params, ts)
    u0 = net.apply(params, 0.0)
    v0 = jax.grad(lambda s: net.apply(params, s))(0.0)
    return (r ** 2).mean() + 20.0 * ((u0 - 1) ** 2 + v0 ** 2)


tx = optax.adam(optax.cosine_decay_schedule(5e-3, 4000))
state = tx.init(params)


@jax.jit
def step(params, state):
    l, g = jax.value_and_grad(loss_fn)(params)
    upd, state = tx.update(g, state)
    return optax.apply_updates(params, upd), state, l


for i in range(4000):
    params, state, l = step(params, state)
    if i % 400 == 0:
        print(i, float(l))

w = jnp.sqrt(4 - 0.25)
grid = jnp.linspace(0, 4, 401)
exact = jnp.exp(-grid / 2) * (jnp.cos(w * grid) + 0.5 / w * jnp.sin(w * grid))
approx = jax.vmap(lambda t: net.apply(params, t))(grid)
print("relative L2 error:", float(jnp.linalg.norm(approx - exact) / jnp.linalg.norm(exact)))
