"""Semi-supervised node classification with a two-layer GCN, plain JAX."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

SEED = 0
N, CLASSES, FEATS = 600, 4, 50


def make_graph(rng):
    """Stochastic block model with noisy bag-of-words features."""
    y = rng.integers(0, CLASSES, N)
    prob = np.where(y[:, None] == y[None, :], 0.03, 0.004)
    upper = np.triu(rng.random((N, N)) < prob, 1)
    adj = (upper | upper.T).astype(np.float32)
    topics = rng.dirichlet(np.ones(FEATS) * 0.5, CLASSES)
    mix = 0.5 * topics[y] + 0.5 / FEATS
    x = np.stack([rng.multinomial(25, p / p.sum()) for p in mix]).astype(np.float32)
    x = x / x.sum(1, keepdims=True)
    return adj, x, y


def normalise(adj):
    a = adj + np.eye(len(adj), dtype=np.float32)
    d = 1.0 / np.sqrt(a.sum(1))
    return a * d[:, None] * d[None, :]


class GCN(nn.Module):
    hidden: int
    classes: int
    rate: float = 0.5

    @nn.compact
    def __call__(self, a, x, train):
        h = a @ nn.Dense(self.hidden)(x)
        h = nn.relu(h)
        h = nn.Dropout(self.rate, deterministic=not train)(h)
        return a @ nn.Dense(self.classes)(h)


rng = np.random.default_rng(SEED)
adj, x, y = make_graph(rng)
a = jnp.asarray(normalise(adj))
order = rng.permutation(N)
masks = {name: np.zeros(N, np.float32) for name in ("train", "val", "test")}
masks["train"][order[:40]] = 1
masks["val"][order[40:160]] = 1
masks["test"][order[160:]] = 1
masks = {k: jnp.asarray(v) for k, v in masks.items()}

model = GCN(hidden=32, classes=CLASSES)
key, init_key = jax.random.split(jax.random.PRNGKey(SEED))
params = model.init(init_key, a, x, train=False)
tx = optax.adamw(1e-2, weight_decay=5e-3)
opt_state = tx.init(params)


@jax.jit
def train_step(params, opt_state, key):
    def loss_fn(p):
        logits = model.apply(p, a, x, train=True, rngs={"dropout": key})
        ce = optax.softmax_cross_entropy_with_integer_labels(logits, y)
        return (ce * masks["train"]).sum() / masks["train"].sum()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def evaluate(params):
    hit = (model.apply(params, a, x, train=False).argmax(-1) == y).astype(jnp.float32)
    return {k: (hit * m).sum() / m.sum() for k, m in masks.items()}


best_val, best_params = 0.0, params
for epoch in range(1, 301):
    key, sub = jax.random.split(key)
    params, opt_state, loss = train_step(params, opt_state, sub)
    if epoch % 10 == 0:
        acc = evaluate(params)
        if float(acc["val"]) > best_val:
            best_val, best_params = float(acc["val"]), params
        if epoch % 50 == 0:
            print(f"epoch {epoch:3d}  loss {float(loss):.4f}  "
                  + "  ".join(f"{k} {float(v):.3f}" for k, v in acc.items()))

print("selected model, test accuracy:", float(evaluate(best_params)["test"]))
