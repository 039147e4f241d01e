import os
os.environ["KERAS_BACKEND"] = "jax"

import jax
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(43)
rng = np.random.default_rng(43)

digits = load_digits()
x = (digits.images[..., None] / 16.0).astype("float32")
y = digits.target.astype("int32")
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dropout(0.2),
        layers.Dense(10),
    ]
)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(4e-3)
optimizer.build(model.trainable_variables)


def forward(tv, ntv, xb, yb):
    logits, ntv = model.stateless_call(tv, ntv, xb, training=True)
    return loss_fn(yb, logits), (logits, ntv)


@jax.jit
def train_step(tv, ntv, ov, xb, yb):
    (loss, (logits, ntv)), grads = jax.value_and_grad(forward, has_aux=True)(tv, ntv, xb, yb)
    tv, ov = optimizer.stateless_apply(ov, grads, tv)
    return tv, ntv, ov, loss


@jax.jit
def predict(tv, ntv, xb):
    logits, _ = model.stateless_call(tv, ntv, xb, training=False)
    return logits.argmax(-1)


tv = [v.value for v in model.trainable_variables]
ntv = [v.value for v in model.non_trainable_variables]
ov = [v.value for v in optimizer.variables]

BATCH = 64
for epoch in range(15):
    order = rng.permutation(len(x_train))
    total = 0.0
    n_batches = len(order) // BATCH
    for b in range(n_batches):
        idx = order[b * BATCH : (b + 1) * BATCH]
        tv, ntv, ov, loss = train_step(tv, ntv, ov, x_train[idx], y_train[idx])
        total += float(loss)
    acc = float((predict(tv, ntv, x_test) == y_test).mean())
    print(f"epoch {epoch:2d}  loss {total / n_batches:.4f}  test accuracy {acc:.4f}")

for var, val in zip(model.trainable_variables, tv):
    var.assign(val)
for var, val in zip(model.non_trainable_variables, ntv):
    var.assign(val)
model.compile(loss=loss_fn, metrics=["accuracy"])
print(model.evaluate(x_test, y_test, verbose=0))
