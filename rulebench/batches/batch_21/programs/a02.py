"""Small MLP on the wine data, written with plain JAX and optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 3
BATCH = 32
EPOCHS = 60
PEAK_LR = 3e-3


def init_layer(key, n_in, n_out):
    w = jax.random.normal(key, (n_in, n_out)) * jnp.sqrt(2.0 / n_in)
    return {"w": w, "b": jnp.zeros(n_out)}


def init_params(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [init_layer(k, a, b) for k, a, b in zip(keys, sizes[:-1], sizes[1:])]


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    last = params[-1]
    return x @ last["w"] + last["b"]


def loss_fn(params, x, y):
    logits = forward(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


X, y = load_wine(return_X_y=True)
x_tr, x_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
scaler = StandardScaler().fit(x_tr)
x_tr = scaler.transform(x_tr).astype(np.float32)
x_te = scaler.transform(x_te).astype(np.float32)

steps_per_epoch = len(x_tr) // BATCH
total = EPOCHS * steps_per_epoch
schedule = optax.warmup_cosine_decay_schedule(
    init_value=0.0, peak_value=PEAK_LR, warmup_steps=20, decay_steps=total, end_value=1e-5
)
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.scale_by_adam(),
    optax.add_decayed_weights(1e-4),
    optax.scale_by_schedule(schedule),
)

params = init_params(jax.random.PRNGKey(SEED), [x_tr.shape[1], 64, 64, 3])
opt_state = tx.init(params)


@jax.jit
def train_step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return (forward(params, x).argmax(-1) == y).mean()


rng = np.random.default_rng(SEED)
for epoch in range(EPOCHS):
    order = rng.permutation(len(x_tr))
    running = 0.0
    for i in range(steps_per_epoch):
        idx = order[i * BATCH:(i + 1) * BATCH]
        params, opt_state, loss = train_step(params, opt_state, x_tr[idx], y_tr[idx])
        running += float(loss)
    if epoch % 10 == 9 or epoch == 0:
        print(f"epoch {epoch + 1:3d}  loss {running / steps_per_epoch:.4f}  "
              f"test acc {float(accuracy(params, x_te, y_te)):.3f}")
print("final test accuracy", float(accuracy(params, x_te, y_te)))
