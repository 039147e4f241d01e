"""Semi-supervised node classification with a two-layer GCN in plain JAX."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

NODES, CLASSES, FEATURES = 600, 4, 32
LABELS_PER_CLASS = 10


def make_graph(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, NODES)
    same = y[:, None] == y[None]
    prob = np.where(same, 0.035, 0.006)
    upper = np.triu(rng.random((NODES, NODES)) < prob, 1)
    adj = (upper | upper.T).astype(np.float32)
    proto = rng.normal(size=(CLASSES, FEATURES))
    x = 0.5 * proto[y] + 1.3 * rng.normal(size=(NODES, FEATURES))
    return adj, x.astype(np.float32), y, rng


adj, x, y, rng = make_graph(10)
a = adj + np.eye(NODES, dtype=np.float32)
d = 1 / np.sqrt(a.sum(1))
a_hat = jnp.asarray(d[:, None] * a * d[None])
x, y = jnp.asarray(x), jnp.asarray(y)

train_mask = np.zeros(NODES, bool)
for c in range(CLASSES):
    train_mask[rng.permutation(np.where(np.asarray(y) == c)[0])[:LABELS_PER_CLASS]] = True
rest = rng.permutation(np.where(~train_mask)[0])
val_ix, test_ix = rest[:150], rest[150:]
train_w = jnp.asarray(train_mask.astype(np.float32))


def glorot(key, shape):
    return jax.random.normal(key, shape) * np.sqrt(2.0 / sum(shape))


k1, k2, key = jax.random.split(jax.random.PRNGKey(10), 3)
params = {"w1": glorot(k1, (FEATURES, 32)), "b1": jnp.zeros(32),
          "w2": glorot(k2, (32, CLASSES)), "b2": jnp.zeros(CLASSES)}


def dropout(key, h, rate):
    keep = jax.random.bernoulli(key, 1 - rate, h.shape)
    return jnp.where(keep, h / (1 - rate), 0.0)


def gcn(params, x, key=None):
    if key is not None:
        ka, kb = jax.random.split(key)
        x = dropout(ka, x, 0.4)
    h = jax.nn.relu(a_hat @ (x @ params["w1"]) + params["b1"])
    if key is not None:
        h = dropout(kb, h, 0.4)
    return a_hat @ (h @ params["w2"]) + params["b2"]


def loss_fn(params, key):
    ce = optax.softmax_cross_entropy_with_integer_labels(gcn(params, x, key), y)
    return (ce * train_w).sum() / train_w.sum()


decay_mask = {"w1": True, "b1": False, "w2": False, "b2": False}
tx = optax.adamw(1e-2, weight_decay=5e-2, mask=decay_mask)
state = tx.init(params)


@jax.jit
def step(params, state, key):
    loss, grads = jax.value_and_grad(loss_fn)(params, key)
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


predict = jax.jit(lambda p: gcn(p, x).argmax(-1))
best_val, best_params = 0.0, params
for epoch in range(300):
    key, sub = jax.random.split(key)
    params, state, loss = step(params, state, sub)
    hit = np.asarray(predict(params) == y)
    if hit[val_ix].mean() > best_val:
        best_val, best_params = hit[val_ix].mean(), params
    if epoch % 30 == 0:
        print(f"epoch {epoch:3d}  loss {float(loss):.4f}  train {hit[train_mask].mean():.3f}  "
              f"val {hit[val_ix].mean():.3f}")

hit = np.asarray(predict(best_params) == y)
print(f"best val {best_val:.3f}, test accuracy {hit[test_ix].mean():.3f}")
