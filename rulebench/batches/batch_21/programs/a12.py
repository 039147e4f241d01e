"""Text classifier on word vectors that came with a published lexicon; only the layers above them learn."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

SEED, VOCAB, DIM, LENGTH, BATCH, STEPS = 53, 400, 24, 16, 64, 600
rng = np.random.default_rng(SEED)

# lexicon: the meaning of a word is a mixture of a few directions
vectors = (rng.standard_normal((VOCAB, 5)) @ rng.standard_normal((5, DIM)) / np.sqrt(5)).astype("float32")
vectors[0] = 0.0  # padding
polarity = vectors @ rng.standard_normal(DIM).astype("float32")


def make_texts(n, words):
    lengths = rng.integers(6, LENGTH + 1, n)
    ids = rng.choice(words, (n, LENGTH))
    ids[np.arange(LENGTH)[None, :] >= lengths[:, None]] = 0
    return ids.astype("int32"), (polarity[ids].sum(1) > 0).astype("float32")


known = np.arange(1, 250)
x_train, y_train = make_texts(3000, known)
x_seen, y_seen = make_texts(500, known)
x_new, y_new = make_texts(500, np.arange(250, VOCAB))


def init(key):
    k1, k2 = jax.random.split(key)
    return {
        "embedding": jnp.asarray(vectors),
        "encoder": {"w": jax.random.normal(k1, (DIM, 32)) * DIM ** -0.5, "b": jnp.zeros(32)},
        "head": {"w": jax.random.normal(k2, (32, 1)) * 32 ** -0.5, "b": jnp.zeros(1)},
    }


def forward(params, ids):
    mask = (ids > 0).astype(jnp.float32)[..., None]
    emb = params["embedding"][ids] * mask
    pooled = emb.sum(1) / jnp.sqrt(mask.sum(1))
    h = jnp.tanh(pooled @ params["encoder"]["w"] + params["encoder"]["b"])
    return (h @ params["head"]["w"] + params["head"]["b"]).squeeze(-1)


def loss_fn(params, ids, y):
    return optax.sigmoid_binary_cross_entropy(forward(params, ids), y).mean()


params = init(jax.random.PRNGKey(SEED))
labels = {"embedding": "fixed", "encoder": "body", "head": "head"}
tx = optax.multi_transform(
    {"fixed": optax.set_to_zero(), "body": optax.adam(1e-3), "head": optax.adam(5e-3)}, labels
)
opt_state = tx.init(params)


@jax.jit
def step(params, opt_state, ids, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, ids, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, ids, y):
    return ((forward(params, ids) > 0) == (y > 0.5)).mean()


for i in range(1, STEPS + 1):
    idx = rng.integers(0, len(x_train), BATCH)
    params, opt_state, loss = step(params, opt_state, x_train[idx], y_train[idx])
    if i % 100 == 0:
        print(f"step {i}  loss {float(loss):.4f}  seen words {float(accuracy(params, x_seen, y_seen)):.3f}  "
              f"new words {float(accuracy(params, x_new, y_new)):.3f}")
