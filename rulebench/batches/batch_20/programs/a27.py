"""Custom training loop for a Keras model on the JAX backend."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import jax
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(42)
EPOCHS, BATCH = 12, 64

digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    digits.data.astype("float32"), digits.target.astype("int32"),
    test_size=0.2, random_state=42, stratify=digits.target,
)

model = keras.Sequential([
    keras.Input((64,)),
    layers.BatchNormalization(),
    layers.Dense(64),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.Dense(64),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.Dense(10),
])
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)


def compute_loss(trainable, non_trainable, x, y):
    logits, non_trainable = model.stateless_call(trainable, non_trainable, x, training=True)
    return loss_fn(y, logits), (logits, non_trainable)


grad_fn = jax.value_and_grad(compute_loss, has_aux=True)


@jax.jit
def train_step(state, x, y):
    trainable, non_trainable, opt_vars = state
    (loss, (logits, _)), grads = grad_fn(trainable, non_trainable, x, y)
    trainable, opt_vars = optimizer.stateless_apply(opt_vars, grads, trainable)
    acc = (logits.argmax(-1) == y).mean()
    return (trainable, non_trainable, opt_vars), loss, acc


@jax.jit
def predict(trainable, non_trainable, x):
    logits, _ = model.stateless_call(trainable, non_trainable, x, training=False)
    return logits


optimizer.build(model.trainable_variables)
state = (
    [v.value for v in model.trainable_variables],
    [v.value for v in model.non_trainable_variables],
    [v.value for v in optimizer.variables],
)

rng = np.random.default_rng(42)
for epoch in range(EPOCHS):
    order = rng.permutation(len(x_train))
    losses, accs = [], []
    for i in range(0, len(order) - BATCH + 1, BATCH):
        idx = order[i:i + BATCH]
        state, loss, acc = train_step(state, x_train[idx], y_train[idx])
        losses.append(float(loss))
        accs.append(float(acc))
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f} acc {np.mean(accs):.4f}")

trainable, non_trainable, _ = state
logits = predict(trainable, non_trainable, x_test)
test_loss = float(loss_fn(y_test, logits))
test_acc = float((np.asarray(logits).argmax(-1) == y_test).mean())
print(f"test loss {test_loss:.4f}  test acc {test_acc:.4f}")
