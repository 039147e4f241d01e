# coupling flow (RealNVP) in plain jax, maximum likelihood on a standardised banana
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
a = rng.normal(size=5000)
pts = np.stack([a, 0.8 * a ** 2 + 0.15 * rng.normal(size=5000)], 1)
pts = jnp.array((pts - pts.mean(0)) / pts.std(0))
train, test = pts[:4000], pts[4000:]
LAYERS = 6


def init(key, h=48):
    layers = []
    for k in jax.random.split(key, LAYERS):
        k1, k2 = jax.random.split(k)
        layers.append(dict(w1=jax.random.normal(k1, (1, h)), b1=jnp.zeros(h), w2=jax.random.normal(k2, (h, h)) / jnp.sqrt(h),
                           b2=jnp.zeros(h), w3=jnp.zeros((h, 2)), b3=jnp.zeros(2)))
    return layers


def net(p, x):
    h = jnp.tanh(jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"])
    s, t = jnp.split(h @ p["w3"] + p["b3"], 2, axis=-1)
    return 2 * jnp.tanh(s), t


def log_prob(params, x):
    logdet = 0.0
    for i, p in enumerate(params):
        keep, move = (x[:, :1], x[:, 1:]) if i % 2 == 0 else (x[:, 1:], x[:, :1])
        s, t = net(p, keep)
        move = move * jnp.exp(s) + t
        logdet += s[:, 0]
        x = jnp.concatenate([keep, move] if i % 2 == 0 else [move, keep], 1)
    return logdet - 0.5 * (x ** 2).sum(1) - jnp.log(2 * jnp.pi)


def nll(params, x):
    return -log_prob(params, x).mean()


opt = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-3, 100, 3000), weight_decay=1e-5)
params = init(jax.random.PRNGKey(0))
state = opt.init(params)


@jax.jit
def step(params, state, x):
    loss, g = jax.value_and_grad(nll)(params, x)
    up, state = opt.update(g, state, params)
    return optax.apply_updates(params, up), state, loss


for it in range(3000):
    params, state, loss = step(params, state, train[rng.integers(0, 4000, 256)])
    if it % 300 == 0:
        print(it, "train nll %.4f test nll %.4f" % (loss, nll(params, test)))
cov = np.cov(np.asarray(train).T)
gauss = 0.5 * np.log(np.linalg.det(2 * np.pi * np.e * cov))
print("final test nll %.4f, single gaussian %.4f" % (nll(params, test), gauss))
