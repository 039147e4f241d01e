"""Evolution strategies in JAX (no backprop): a linear-ish policy balancing a cart-pole.
Returns are rank-shaped, so their scale does not matter."""
import jax
import jax.numpy as jnp
import optax

KEY = jax.random.PRNGKey(0)
H, STEPS, POP, SIGMA = 8, 400, 32, 0.15
DIM = 4 * H + H + H


def act(w, s):
    a = jnp.tanh(s @ w[:4 * H].reshape(4, H) + w[4 * H:5 * H]) @ w[5 * H:]
    return jnp.tanh(a) * 10.0


def dynamics(s, f):
    x, v, th, om = s
    c, sn = jnp.cos(th), jnp.sin(th)
    tmp = (f + 0.05 * om ** 2 * sn) / 1.1
    acc_th = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
    acc = tmp - 0.05 * acc_th * c / 1.1
    return jnp.array([x + 0.02 * v, v + 0.02 * acc, th + 0.02 * om, om + 0.02 * acc_th])


def episode(w, key):
    s0 = jax.random.uniform(key, (4,), minval=-0.15, maxval=0.15)

    def step(carry, _):
        s, alive = carry
        s = dynamics(s, act(w, s))
        alive = alive * (jnp.abs(s[2]) < 0.21) * (jnp.abs(s[0]) < 2.4)
        s = jnp.where(alive > 0, s, jnp.zeros(4))
        return (s, alive), alive

    _, alive = jax.lax.scan(step, (s0, 1.0), None, length=STEPS)
    return alive.sum()


returns = jax.jit(jax.vmap(episode))
opt = optax.adam(0.05)


@jax.jit
def generation(w, state, key):
    ke, ks = jax.random.split(key)
    eps = jax.random.normal(ke, (POP, DIM))
    eps = jnp.concatenate([eps, -eps])
    keys = jnp.tile(jax.random.split(ks, POP), (2, 1))      # mirrored pairs share their start
    r = jax.vmap(episode)(w + SIGMA * eps, keys)
    shaped = jnp.argsort(jnp.argsort(r)) / (2 * POP - 1) - 0.5
    grad = -(shaped[:, None] * eps).mean(0) / SIGMA          # optax minimises
    upd, state = opt.update(grad, state)
    return optax.apply_updates(w, upd), state, r.mean()


KEY, k = jax.random.split(KEY)
w = 0.1 * jax.random.normal(k, (DIM,))
state = opt.init(w)
test_keys = jax.random.split(jax.random.PRNGKey(12345), 200)
evaluate = lambda w: float(returns(jnp.tile(w, (200, 1)), test_keys).mean())
print("before: %.1f of %d steps" % (evaluate(w), STEPS))
for gen in range(300):
    KEY, k = jax.random.split(KEY)
    w, state, r = generation(w, state, k)
    if gen % 25 == 0:
        print("generation", gen, "population mean return %.1f" % float(r))
print("after: mean balanced steps %.1f of %d" % (evaluate(w), STEPS))
