"""Learn to swing a pendulum up by differentiating through the simulator (plain JAX + optax)."""
import jax, jax.numpy as jnp, optax
SEED = 3
key = jax.random.PRNGKey(SEED)
DT, H = 0.05, 50

def init(key, sizes=(3, 32, 32, 1)):
    ks = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (a, b)) / jnp.sqrt(a), jnp.zeros(b)) for k, a, b in zip(ks, sizes[:-1], sizes[1:])]

def policy(p, th, om):
    h = jnp.array([jnp.cos(th), jnp.sin(th), om / 4])
    for W, b in p[:-1]:
        h = jnp.tanh(h @ W + b)
    W, b = p[-1]
    return 6.0 * jnp.tanh(h @ W + b)[0]

def rollout(p, s0):
    def f(s, _):
        th, om = s
        a = policy(p, th, om)
        om = om + DT * (4.0 * jnp.sin(th) + a - 0.1 * om)
        th = th + DT * om
        return (th, om), (1 - jnp.cos(th)) + 0.01 * om ** 2 + 0.001 * a ** 2
    (th, om), c = jax.lax.scan(f, s0, None, length=H)
    return c.mean(), jnp.cos(th)

def batch_cost(p, th, om):
    c, up = jax.vmap(lambda a, b: rollout(p, (a, b)))(th, om)
    return c.mean(), up

sched = optax.cosine_decay_schedule(5e-3, 600)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(sched))
key, k = jax.random.split(key)
params = init(k); state = tx.init(params)

@jax.jit
def update(params, state, key):
    k1, k2 = jax.random.split(key)
    th = jax.random.uniform(k1, (64,), minval=-jnp.pi, maxval=jnp.pi)
    om = jax.random.normal(k2, (64,))
    (c, _), g = jax.value_and_grad(batch_cost, has_aux=True)(params, th, om)
    up, state = tx.update(g, state)
    return optax.apply_updates(params, up), state, c

th0 = jnp.linspace(-3.1, 3.1, 101); om0 = jnp.zeros(101)
print("before: cost %.3f" % batch_cost(params, th0, om0)[0])
for i in range(600):
    key, k = jax.random.split(key)
    params, state, c = update(params, state, k)
    if i % 60 == 0: print(i, "cost %.4f" % c)
c, up = batch_cost(params, th0, om0)
print("after: cost %.3f, upright at the end in %.1f%% of starts" % (c, 100 * (up > 0.95).mean()))
