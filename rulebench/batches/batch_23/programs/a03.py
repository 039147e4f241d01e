"""Small MLP on the wine data, plain JAX and optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 3
HIDDEN = 32
LEARNING_RATE = 5e-3
STEPS = 300
BATCH_SIZE = 32

X, y = load_wine(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)
scaler = StandardScaler().fit(X_tr)
X_tr = jnp.asarray(scaler.transform(X_tr))
X_te = jnp.asarray(scaler.transform(X_te))
y_tr, y_te = jnp.asarray(y_tr), jnp.asarray(y_te)


def init_layer(key, n_in, n_out):
    return {"w": jax.random.normal(key, (n_in, n_out)) * np.sqrt(2.0 / n_in),
            "b": jnp.zeros(n_out)}


def init_params(key):
    k1, k2, k3 = jax.random.split(key, 3)
    return [init_layer(k1, 13, HIDDEN), init_layer(k2, HIDDEN, HIDDEN), init_layer(k3, HIDDEN, 3)]


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    logits = forward(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


schedule = optax.warmup_cosine_decay_schedule(0.0, LEARNING_RATE, 20, STEPS, 1e-4)
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.scale_by_adam(),
    optax.scale_by_schedule(schedule),
)

params = init_params(jax.random.PRNGKey(SEED))
opt_state = tx.init(params)


@jax.jit
def train_step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return (forward(params, x).argmax(-1) == y).mean()


rng = np.random.default_rng(SEED)
for step in range(STEPS):
    ix = rng.choice(len(X_tr), BATCH_SIZE, replace=False)
    params, opt_state, loss = train_step(params, opt_state, X_tr[ix], y_tr[ix])
    if step % 25 == 0 or step == STEPS - 1:
        print(f"step {step:4d}  loss {loss:.4f}  train acc {accuracy(params, X_tr, y_tr):.3f}")

print(f"test accuracy {accuracy(params, X_te, y_te):.3f}")
