import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# plain jax MLP; the whole data set sits on the device and minibatches are drawn inside jit
BATCH = 64
STEPS = 5000

x, y = load_digits(return_X_y=True)
x_tr, x_te, y_tr, y_te = train_test_split(x / 16.0, y, test_size=0.3, random_state=0, stratify=y)
x_tr, x_te = jnp.asarray(x_tr, jnp.float32), jnp.asarray(x_te, jnp.float32)
y_tr, y_te = jnp.asarray(y_tr), jnp.asarray(y_te)


def init(key, sizes=(64, 128, 128, 10)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (a, b)) * np.sqrt(2 / a), jnp.zeros(b))
            for k, a, b in zip(keys, sizes[:-1], sizes[1:])]


def apply(params, h, key=None, rate=0.2):
    for i, (w, b) in enumerate(params[:-1]):
        h = jax.nn.relu(h @ w + b)
        if key is not None:
            keep = jax.random.bernoulli(jax.random.fold_in(key, i), 1 - rate, h.shape)
            h = jnp.where(keep, h / (1 - rate), 0.0)
    w, b = params[-1]
    return h @ w + b


tx = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 2e-3, 100, STEPS), weight_decay=1e-4)


@jax.jit
def train_step(params, opt_state, key):
    k_batch, k_drop = jax.random.split(key)
    idx = jax.random.randint(k_batch, (BATCH,), 0, x_tr.shape[0])

    def loss_fn(p):
        logits = apply(p, x_tr[idx], k_drop)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y_tr[idx]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return (apply(params, x).argmax(-1) == y).mean()


key = jax.random.PRNGKey(2024)
key, init_key, step_key = jax.random.split(key, 3)
params = init(init_key)
opt_state = tx.init(params)
for step in range(STEPS):
    params, opt_state, loss = train_step(params, opt_state, step_key)
    if step % 500 == 0:
        print(f"step {step:5d} loss {loss:.4f}")
print(f"test accuracy {accuracy(params, x_te, y_te):.4f}")
