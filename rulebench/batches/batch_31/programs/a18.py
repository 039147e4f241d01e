# Physics-informed net for a damped oscillator  u'' + 2 d u' + w^2 u = 0,  u(0)=1, u'(0)=0
import jax
import jax.numpy as jnp
import optax

d, w = 1.0, 6.0
SEED = 0


def init(key, sizes):
    params = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append({"w": jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / (i + o)), "b": jnp.zeros(o)})
    return params


def net(params, t):
    h = jnp.atleast_1d(t) * 2 - 1
    for l in params[:-1]:
        h = jnp.tanh(h @ l["w"] + l["b"])
    return (h @ params[-1]["w"] + params[-1]["b"])[0]


def u(params, t):
    # hard initial conditions: u = 1 + t^2 * N(t)
    return 1.0 + 20 * t ** 2 * net(params, t)


ut = jax.grad(u, argnums=1)
utt = jax.grad(ut, argnums=1)


def residual(params, t):
    return (utt(params, t) + 2 * d * ut(params, t) + w ** 2 * u(params, t)) / w ** 2


ts = jnp.linspace(0.0, 1.0, 96)          # collocation points, always the same ones


def loss_fn(params):
    r = jax.vmap(lambda t: residual(params, t))(ts)
    return jnp.mean(r ** 2)


params = init(jax.random.PRNGKey(SEED), [1, 32, 32, 1])
tx = optax.adam(optax.exponential_decay(3e-3, 1000, 0.5))
state = tx.init(params)


@jax.jit
def step(params, state):
    loss, g = jax.value_and_grad(loss_fn)(params)
    upd, state = tx.update(g, state)
    return optax.apply_updates(params, upd), state, loss


def exact(t):
    w0 = jnp.sqrt(w ** 2 - d ** 2)
    return jnp.exp(-d * t) * (jnp.cos(w0 * t) + d / w0 * jnp.sin(w0 * t))


tt = jnp.linspace(0, 1, 301)
for it in range(4001):
    params, state, loss = step(params, state)
    if it % 500 == 0:
        e = jax.vmap(lambda t: u(params, t))(tt) - exact(tt)
        print(f"it {it:5d} residual {loss:.3e} max error {jnp.abs(e).max():.4f}")
pred = jax.vmap(lambda t: u(params, t))(tt)
print("relative L2 error against the exact solution: %.5f" % (jnp.linalg.norm(pred - exact(tt)) / jnp.linalg.norm(exact(tt))))
