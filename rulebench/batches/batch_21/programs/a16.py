"""Graph convolution on a synthetic citation network."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

SEED = 47
N, CLASSES, FEATURES, PER_CLASS = 500, 4, 40, 8
rng = np.random.default_rng(SEED)

# nodes cite mostly inside their own field
field = rng.integers(0, CLASSES, N)
same = field[:, None] == field[None, :]
adj = rng.random((N, N)) < np.where(same, 0.03, 0.003)
adj = np.triu(adj, 1)
adj = (adj | adj.T).astype("float32") + np.eye(N, dtype="float32")
inv_sqrt = 1.0 / np.sqrt(adj.sum(1))
a_hat = jnp.asarray(adj * inv_sqrt[:, None] * inv_sqrt[None, :])

topic_words = rng.random((CLASSES, FEATURES)) * 0.25
features = (rng.random((N, FEATURES)) < 0.08 + topic_words[field]).astype("float32")
features = jnp.asarray(features / np.maximum(features.sum(1, keepdims=True), 1))

train_mask = np.zeros(N, bool)
for c in range(CLASSES):
    train_mask[rng.choice(np.flatnonzero(field == c), PER_CLASS, replace=False)] = True
rest = rng.permutation(np.flatnonzero(~train_mask))
val_idx, test_idx = rest[:120], rest[120:]
train_mask = jnp.asarray(train_mask, jnp.float32)
labels = jnp.asarray(field)


class GCN(nn.Module):
    hidden: int
    out: int

    @nn.compact
    def __call__(self, x, train):
        x = nn.Dropout(0.5, deterministic=not train)(x)
        x = nn.relu(a_hat @ nn.Dense(self.hidden, use_bias=False)(x))
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return a_hat @ nn.Dense(self.out, use_bias=False)(x)


model = GCN(32, CLASSES)
key = jax.random.PRNGKey(SEED)
key, init_key = jax.random.split(key)
params = model.init(init_key, features, train=False)
tx = optax.adamw(1e-2, weight_decay=5e-3)
opt_state = tx.init(params)


@jax.jit
def step(params, opt_state, key):
    def loss_fn(p):
        logits = model.apply(p, features, train=True, rngs={"dropout": key})
        ce = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return (ce * train_mask).sum() / train_mask.sum()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def correct(params):
    return model.apply(params, features, train=False).argmax(-1) == labels


best_val, best_params = -1.0, params
for epoch in range(1, 301):
    key, sub = jax.random.split(key)
    params, opt_state, loss = step(params, opt_state, sub)
    if epoch % 10 == 0:
        val = float(np.asarray(correct(params))[val_idx].mean())
        if val > best_val:
            best_val, best_params = val, params
    if epoch % 50 == 0:
        print(f"epoch {epoch}  loss {float(loss):.4f}  val acc {val:.3f}")

print("labelled nodes:", int(train_mask.sum()))
print("test accuracy:", float(np.asarray(correct(best_params))[test_idx].mean()))
