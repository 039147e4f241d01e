import jax, jax.numpy as jnp, optax
import numpy as np

# learning to rank with the ListNet loss, one query = 12 documents
rng = np.random.default_rng(0)
W = rng.normal(size=(10,))
def queries(n):
    x = rng.normal(size=(n, 12, 10)).astype(np.float32)
    u = x @ W + 1.5 * np.sin(2 * x[..., 0]) + 0.5 * rng.normal(size=(n, 12))
    rel = np.digitize(u, [0.0, 2.5, 5.0]).astype(np.float32)
    return jnp.array(x), jnp.array(rel)
Xtr, Rtr = queries(1200)
Xte, Rte = queries(300)

def init(key):
    ks = jax.random.split(key, 3)
    s = [(10, 32), (32, 32), (32, 1)]
    return [{"w": jax.random.normal(k, d) / np.sqrt(d[0]), "b": jnp.zeros(d[1])} for k, d in zip(ks, s)]

def score(params, docs):
    h = docs
    for l in params[:-1]:
        h = jax.nn.relu(h @ l["w"] + l["b"])
    return (h @ params[-1]["w"] + params[-1]["b"])[..., 0]

def listnet(params, x, rel):
    s = jax.vmap(score, in_axes=(None, 0))(params, x)
    return -jnp.mean(jnp.sum(jax.nn.softmax(rel, -1) * jax.nn.log_softmax(s, -1), -1))

def ndcg(params, x, rel, k=5):
    disc = 1 / jnp.log2(jnp.arange(2, k + 2))
    order = jnp.argsort(-score(params, x), axis=-1)[:, :k]
    got = ((2 ** jnp.take_along_axis(rel, order, -1) - 1) * disc).sum(-1)
    best = ((2 ** (-jnp.sort(-rel, -1)[:, :k]) - 1) * disc).sum(-1)
    return jnp.mean(jnp.where(best > 0, got / jnp.maximum(best, 1e-9), 1.0))

STEPS = 1500
opt = optax.chain(optax.clip_by_global_norm(1.0),
                  optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-3, 100, STEPS), weight_decay=1e-3))
key, k0 = jax.random.split(jax.random.PRNGKey(0))
params = init(k0)
state = opt.init(params)

@jax.jit
def step(params, state, key):
    idx = jax.random.choice(key, Xtr.shape[0], (32,), replace=False)
    loss, g = jax.value_and_grad(listnet)(params, Xtr[idx], Rtr[idx])
    up, state = opt.update(g, state, params)
    return optax.apply_updates(params, up), state, loss

print(f"start ndcg@5 {ndcg(params, Xte, Rte):.4f}")
for i in range(1, STEPS + 1):
    key, sub = jax.random.split(key)
    params, state, loss = step(params, state, sub)
    if i % 150 == 0:
        print(f"step {i} loss {loss:.4f} test loss {listnet(params, Xte, Rte):.4f} ndcg@5 {ndcg(params, Xte, Rte):.4f}")
