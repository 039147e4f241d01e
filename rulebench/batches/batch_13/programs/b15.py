# ListNet ranking of documents per query, jax + optax, NDCG@5 on new queries
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(1)
w = rng.normal(size=10)

def queries(n, docs=12):
    x = rng.normal(size=(n, docs, 10)) + rng.normal(size=(n, 1, 10))
    s = x @ w + 1.5 * x[..., 0] * x[..., 1] + 0.5 * rng.normal(size=(n, docs))
    rank = (-s).argsort(1).argsort(1)
    rel = np.select([rank < 1, rank < 3, rank < 6], [3, 2, 1], 0)
    return jnp.asarray(x, jnp.float32), jnp.asarray(rel, jnp.float32)

Xtr, Rtr = queries(600)
Xte, Rte = queries(200)

def init(key):
    a, b = jax.random.split(key)
    return {"h": jax.random.normal(a, (10, 48)) * 0.3, "hb": jnp.zeros(48), "o": jax.random.normal(b, (48,)) * 0.1}

def score(p, x):
    return jax.nn.relu(x @ p["h"] + p["hb"]) @ p["o"]

def listnet(p, x, r):
    return -(jax.nn.softmax(r, axis=1) * jax.nn.log_softmax(score(p, x), axis=1)).sum(1).mean()

def ndcg(p, x, r, k=5):
    disc = 1 / jnp.log2(jnp.arange(2, k + 2))
    top = jnp.argsort(-score(p, x), axis=1)[:, :k]
    gain = (2 ** jnp.take_along_axis(r, top, 1) - 1) @ disc
    ideal = (2 ** -jnp.sort(-r, axis=1)[:, :k] - 1) @ disc
    return (gain / ideal).mean()

params = init(jax.random.PRNGKey(0))
opt = optax.adamw(3e-3, weight_decay=1e-3)
state = opt.init(params)

@jax.jit
def step(params, state, x, r):
    l, g = jax.value_and_grad(listnet)(params, x, r)
    u, state = opt.update(g, state, params)
    return optax.apply_updates(params, u), state, l

print("untrained ndcg@5", round(float(ndcg(params, Xte, Rte)), 3))
for it in range(1, 801):
    q = rng.integers(0, 600, 32)
    params, state, l = step(params, state, Xtr[q], Rtr[q])
    if it % 100 == 0:
        print(it, f"loss {l:.4f} ndcg@5 {ndcg(params, Xte, Rte):.3f}")
