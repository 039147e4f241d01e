"""Digits with flax.linen; backbone and head get their own optimizers."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Backbone(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(16, (3, 3))(x))
        x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = nn.relu(nn.Conv(32, (3, 3))(x))
        return x.mean(axis=(1, 2))


class Classifier(nn.Module):
    classes: int = 10

    def setup(self):
        self.backbone = Backbone()
        self.norm = nn.LayerNorm()
        self.head = nn.Dense(self.classes)

    def __call__(self, x):
        return self.head(self.norm(self.backbone(x)))


def label_params(params):
    return {name: ("adam" if name == "backbone" else "sgd") for name in params}


digits = load_digits()
X = (digits.images / 16.0)[..., None].astype(np.float32)
y = digits.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)

EPOCHS, BATCH = 12, 48
steps = EPOCHS * (len(X_train) // BATCH)
model = Classifier()
params = model.init(jax.random.PRNGKey(0), X_train[:1])["params"]
tx = optax.multi_transform(
    {"adam": optax.adam(optax.cosine_decay_schedule(4e-3, steps)),
     "sgd": optax.sgd(0.2, momentum=0.9)},
    label_params,
)
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)


@jax.jit
def step(state, xb, yb):
    def loss_fn(p):
        logits = state.apply_fn({"params": p}, xb)
        targets = optax.smooth_labels(jax.nn.one_hot(yb, 10), 0.05)
        return optax.softmax_cross_entropy(logits, targets).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


@jax.jit
def predict(params, x):
    return model.apply({"params": params}, x).argmax(-1)


rng = np.random.default_rng(0)
for epoch in range(EPOCHS):
    perm = rng.permutation(len(X_train))
    losses = []
    for i in range(0, len(perm) - BATCH + 1, BATCH):
        ix = perm[i:i + BATCH]
        state, loss = step(state, X_train[ix], y_train[ix])
        losses.append(float(loss))
    acc = float((predict(state.params, X_test) == y_test).mean())
    print(f"epoch {epoch + 1:2d}: loss {np.mean(losses):.4f}, test accuracy {acc:.4f}")
