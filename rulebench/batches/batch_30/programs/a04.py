# u''(x) + 4 u'(x) + 25 u(x) = 0, u(0)=1, u'(0)=0 : damped oscillator with a small network
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import optax

SEED = 5
key = jax.random.PRNGKey(SEED)
sizes = [1, 32, 32, 32, 1]

params = []
for m, n in zip(sizes[:-1], sizes[1:]):
    key, k = jax.random.split(key)
    params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2.0 / (m + n)), "b": jnp.zeros(n)})


def net(params, t):
    h = jnp.array([2.0 * t - 1.0])
    for p in params[:-1]:
        h = jnp.tanh(h @ p["w"] + p["b"])
    out = h @ params[-1]["w"] + params[-1]["b"]
    # hard constraint for both initial conditions
    return 1.0 + t ** 2 * out[0]


du = jax.grad(net, argnums=1)
d2u = jax.grad(du, argnums=1)


def residual(params, t):
    return d2u(params, t) + 4.0 * du(params, t) + 25.0 * net(params, t)


colloc = jnp.linspace(0.0, 1.5, 80)


def loss_fn(params):
    r = jax.vmap(lambda t: residual(params, t))(colloc)
    return jnp.mean(r ** 2)


sched = optax.exponential_decay(5e-3, 500, 0.7)
tx = optax.adam(sched)
state = tx.init(params)


@jax.jit
def step(params, state):
    loss, g = jax.value_and_grad(loss_fn)(params)
    up, state = tx.update(g, state)
    return optax.apply_updates(params, up), state, loss


for i in range(3001):
    params, state, loss = step(params, state)
    if i % 500 == 0:
        print(f"step {i:5d}  residual loss {float(loss):.3e}")


def exact(t):
    w = jnp.sqrt(21.0)
    return jnp.exp(-2.0 * t) * (jnp.cos(w * t) + 2.0 / w * jnp.sin(w * t))


tt = jnp.linspace(0.0, 1.5, 301)
err = jnp.abs(jax.vmap(lambda t: net(params, t))(tt) - exact(tt))
print("max |u - exact| = %.3e" % float(err.max()))
