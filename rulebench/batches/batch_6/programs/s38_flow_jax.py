"""RealNVP on a 2-D banana, plain JAX. Loss is a negative log density and may be negative."""
import jax, jax.numpy as jnp, numpy as np, optax

key = jax.random.PRNGKey(4)
rng = np.random.default_rng(4)


def banana(n):
    x = rng.normal(size=n) * 0.5
    return np.stack([x, x ** 2 * 2 - 0.5 + 0.1 * rng.normal(size=n)], 1).astype(np.float32)


train, test = banana(5000), banana(1000)
HID, LAYERS = 32, 6


def init(key):
    ps = []
    for _ in range(LAYERS):
        key, a, b = jax.random.split(key, 3)
        ps.append(dict(w1=jax.random.normal(a, (1, HID)), b1=jnp.zeros(HID),
                       w2=jax.random.normal(b, (HID, HID)) / np.sqrt(HID), b2=jnp.zeros(HID),
                       w3=jnp.zeros((HID, 2)), b3=jnp.zeros(2)))
    return ps


def log_prob(ps, x):
    logdet = 0.0
    for i, p in enumerate(ps):
        a, b = (x[:, :1], x[:, 1:]) if i % 2 == 0 else (x[:, 1:], x[:, :1])
        h = jnp.tanh(jnp.tanh(a @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"]
        s, t = jnp.tanh(h[:, :1]) * 2.0, h[:, 1:]
        b = b * jnp.exp(s) + t
        logdet = logdet + s[:, 0]
        x = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], 1)
    return -0.5 * (x ** 2).sum(1) - jnp.log(2 * jnp.pi) + logdet


nll = lambda ps, x: -log_prob(ps, x).mean()
tx = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(optax.cosine_decay_schedule(3e-3, 1500)))


@jax.jit
def step(ps, st, x):
    l, g = jax.value_and_grad(nll)(ps, x)
    u, st = tx.update(g, st, ps)
    return optax.apply_updates(ps, u), st, l


ps = init(key)
st = tx.init(ps)
for i in range(1500):
    ps, st, l = step(ps, st, train[rng.integers(0, len(train), 128)])
    if i % 150 == 0:
        print(f"step {i:4d} nll {l:.4f}")
z = lambda v, s: 0.5 * np.log(2 * np.pi * np.e * s ** 2)
print("test nll %.4f, entropy of the source %.4f" % (nll(ps, test), z(0, 0.5) + z(0, 0.1)))
