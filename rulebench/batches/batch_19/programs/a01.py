import os
os.environ["KERAS_BACKEND"] = "jax"

import jax
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

# sensor readings, raw units
N, D, K = 3000, 24, 5
centers = rng.normal(scale=6.0, size=(K, D)) + 20.0
labels = rng.integers(0, K, size=N)
readings = (centers[labels] + rng.normal(scale=7.0, size=(N, D))).astype("float32")
x_train, y_train = readings[:2400], labels[:2400]
x_test, y_test = readings[2400:], labels[2400:]


def get_model():
    inp = keras.Input((D,))
    h = layers.BatchNormalization()(inp)
    h = layers.Dense(64, use_bias=False)(h)
    h = layers.BatchNormalization()(h)
    h = layers.ReLU()(h)
    h = layers.Dense(32, activation="relu")(h)
    return keras.Model(inp, layers.Dense(K)(h))


model = get_model()
optimizer = keras.optimizers.Adam(1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def compute_loss(tv, ntv, x, y):
    logits, ntv = model.stateless_call(tv, ntv, x, training=True)
    return loss_fn(y, logits), (logits, ntv)


grad_fn = jax.value_and_grad(compute_loss, has_aux=True)


@jax.jit
def train_step(state, x, y):
    tv, ntv, ov = state
    (loss, (logits, _)), grads = grad_fn(tv, ntv, x, y)
    tv, ov = optimizer.stateless_apply(ov, grads, tv)
    acc = (logits.argmax(-1) == y).mean()
    return loss, acc, (tv, ntv, ov)


@jax.jit
def eval_step(state, x, y):
    tv, ntv, _ = state
    logits, _ = model.stateless_call(tv, ntv, x, training=False)
    return loss_fn(y, logits), (logits.argmax(-1) == y).mean()


optimizer.build(model.trainable_variables)
state = (
    [v.value for v in model.trainable_variables],
    [v.value for v in model.non_trainable_variables],
    [v.value for v in optimizer.variables],
)

BATCH = 60
for epoch in range(15):
    order = rng.permutation(len(x_train))
    losses, accs = [], []
    for i in range(0, len(order), BATCH):
        idx = order[i : i + BATCH]
        loss, acc, state = train_step(state, x_train[idx], y_train[idx])
        losses.append(float(loss))
        accs.append(float(acc))
    print(f"epoch {epoch:2d}  loss {np.mean(losses):.4f}  acc {np.mean(accs):.4f}")

test_loss, test_acc = eval_step(state, x_test, y_test)
print(f"test loss {float(test_loss):.4f}  test acc {float(test_acc):.4f}")

for variable, value in zip(model.trainable_variables, state[0]):
    variable.assign(value)
for variable, value in zip(model.non_trainable_variables, state[1]):
    variable.assign(value)
print("sample predictions:", model.predict(x_test[:8], verbose=0).argmax(-1), y_test[:8])
