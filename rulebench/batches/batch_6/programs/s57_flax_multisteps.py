# flax.linen MLP with dropout, gradient accumulation by optax.MultiSteps
import jax, jax.numpy as jnp
import numpy as np
import optax
import flax.linen as nn
from flax.training import train_state
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=0)


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        for f in (128, 64):
            x = nn.relu(nn.Dense(f)(x))
            x = nn.Dropout(0.25, deterministic=not train)(x)
        return nn.Dense(10)(x)


model = MLP()
root = jax.random.PRNGKey(0)
params = model.init({"params": root}, X_tr[:1], train=False)["params"]
K = 4
base = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 6e-3, 30, 400), weight_decay=1e-4)
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.MultiSteps(base, every_k_schedule=K))


@jax.jit
def train_step(state, x, y, rng):
    def loss_fn(p):
        logits = state.apply_fn({"params": p}, x, train=True, rngs={"dropout": rng})
        return optax.softmax_cross_entropy(logits, optax.smooth_labels(jax.nn.one_hot(y, 10), 0.1)).mean()
    loss, g = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=g), loss


np_rng = np.random.default_rng(0)
for i in range(1600):
    idx = np_rng.choice(len(X_tr), 16, replace=False)
    state, loss = train_step(state, X_tr[idx], y_tr[idx], jax.random.fold_in(root, i))
    if i % 200 == 0:
        print(f"micro step {i} (updates {i // K}) loss {loss:.4f}")
logits = model.apply({"params": state.params}, X_te, train=False)
print("test accuracy %.4f" % (logits.argmax(-1) == y_te).mean())
