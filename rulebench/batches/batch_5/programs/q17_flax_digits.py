import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X.astype("float32") / 16, y, test_size=0.25, random_state=1)
X_tr, y_tr, X_te, y_te = map(jnp.asarray, (X_tr, y_tr, X_te, y_te))


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(128)(x))
        x = nn.relu(nn.Dense(64)(x))
        return nn.Dense(10)(x)


model = MLP()
init_key, data_key = jax.random.split(jax.random.PRNGKey(0))
params = model.init(init_key, X_tr[:1])
tx = optax.adam(1e-3)
opt_state = tx.init(params)
BATCH = 64


def loss_fn(params, xb, yb):
    logits = model.apply(params, xb)
    return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean()


@jax.jit
def train_step(params, opt_state, key):
    idx = jax.random.choice(key, X_tr.shape[0], (BATCH,), replace=False)
    loss, grads = jax.value_and_grad(loss_fn)(params, X_tr[idx], y_tr[idx])
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return (model.apply(params, x).argmax(-1) == y).mean()


for step in range(1001):
    params, opt_state, loss = train_step(params, opt_state, data_key)
    if step % 100 == 0:
        print(f"step {step:4d} loss {loss:.4f} test acc {accuracy(params, X_te, y_te):.4f}")
