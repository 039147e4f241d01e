"""Quantile regression (0.1, 0.5, 0.9) with heteroscedastic noise; whole epochs run inside lax.scan."""
import jax
import jax.numpy as jnp
import optax

QS = jnp.array([0.1, 0.5, 0.9])


def make(key, n):
    k1, k2 = jax.random.split(key)
    x = jax.random.uniform(k1, (n, 1), minval=-3, maxval=3)
    y = jnp.sin(x) * 2 + (0.2 + 0.3 * jnp.abs(x)) * jax.random.normal(k2, (n, 1))
    return x, y


def init(key, widths):
    ks = jax.random.split(key, len(widths))
    return {f"l{i}": {"w": jax.random.normal(ks[i], (a, b)) / a ** 0.5, "b": jnp.zeros(b)}
            for i, (a, b) in enumerate(zip(widths[:-1], widths[1:]))}


def apply(p, x):
    for i in range(len(p) - 1):
        x = jax.nn.gelu(x @ p[f"l{i}"]["w"] + p[f"l{i}"]["b"])
    last = p[f"l{len(p) - 1}"]
    out = x @ last["w"] + last["b"]
    mid = out[:, 1:2]
    return jnp.concatenate([mid - jax.nn.softplus(out[:, :1]), mid, mid + jax.nn.softplus(out[:, 2:])], 1)


def pinball(p, x, y):
    e = y - apply(p, x)
    return jnp.mean(jnp.maximum(QS * e, (QS - 1) * e))


key = jax.random.PRNGKey(0)
key, a, b, c = jax.random.split(key, 4)
X, Y = make(a, 4000)
Xt, Yt = make(b, 4000)
params = init(c, [1, 48, 48, 3])
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(3e-3, 40 * 40), weight_decay=1e-4))
state = tx.init(params)


@jax.jit
def epoch(params, state, key):
    perm = jax.random.permutation(key, 4000).reshape(-1, 100)

    def body(carry, idx):
        p, s = carry
        l, g = jax.value_and_grad(pinball)(p, X[idx], Y[idx])
        u, s = tx.update(g, s, p)
        return (optax.apply_updates(p, u), s), l

    (params, state), losses = jax.lax.scan(body, (params, state), perm)
    return params, state, losses.mean()


for e in range(40):
    key, sub = jax.random.split(key)
    params, state, loss = epoch(params, state, sub)
    if (e + 1) % 8 == 0:
        cov = (Yt <= apply(params, Xt)).mean(0)
        print(f"epoch {e + 1} train {loss:.4f} test {pinball(params, Xt, Yt):.4f} coverage {[round(float(v), 3) for v in cov]}")
