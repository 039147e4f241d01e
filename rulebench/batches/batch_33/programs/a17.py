"""Physics-informed network for  -u'' - a(x) u = f  on [0,1], u(0)=u(1)=0  (plain JAX + optax)."""
import os
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import optax

jax.config.update("jax_enable_x64", True)
SEED = 0
key = jax.random.PRNGKey(SEED)
WIDTHS = [1, 24, 24, 1]

exact = lambda x: jnp.sin(2 * jnp.pi * x) + 0.3 * jnp.sin(5 * jnp.pi * x)
coef = lambda x: 1.0 + x ** 2
forcing = lambda x: (4 * jnp.pi ** 2 * jnp.sin(2 * jnp.pi * x)
                     + 0.3 * 25 * jnp.pi ** 2 * jnp.sin(5 * jnp.pi * x)) - coef(x) * exact(x)


def init(key):
    params = []
    for i, o in zip(WIDTHS[:-1], WIDTHS[1:]):
        key, k = jax.random.split(key)
        params.append((jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / (i + o)), jnp.zeros(o)))
    return params


def net(params, x):
    h = jnp.array([2 * x - 1])
    for w, b in params[:-1]:
        h = jnp.sin((3.0 if h.shape[0] == 1 else 1.0) * (h @ w + b))
    w, b = params[-1]
    return x * (1 - x) * (h @ w + b)[0]          # boundary values hold by construction


def residual(params, x):
    uxx = jax.grad(jax.grad(net, 1), 1)(params, x)
    return -uxx - coef(x) * net(params, x) - forcing(x)


xs = jnp.linspace(0.0, 1.0, 96)


def loss_fn(params):
    return jnp.mean(jax.vmap(residual, (None, 0))(params, xs) ** 2)


sched = optax.cosine_decay_schedule(5e-3, 6000)
tx = optax.adam(sched)
params = init(key)
state = tx.init(params)


@jax.jit
def step(params, state):
    loss, g = jax.value_and_grad(loss_fn)(params)
    upd, state = tx.update(g, state)
    return optax.apply_updates(params, upd), state, loss


for i in range(6001):
    params, state, loss = step(params, state)
    if i % 1000 == 0:
        print(f"{i:5d} residual loss {loss:.5f}")

grid = jnp.linspace(0, 1, 501)
u = jax.vmap(net, (None, 0))(params, grid)
rel = jnp.linalg.norm(u - exact(grid)) / jnp.linalg.norm(exact(grid))
print(f"relative L2 error against the exact solution: {rel:.2e}")
