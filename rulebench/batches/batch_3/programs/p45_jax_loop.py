# Keras 3 with the JAX backend: training loop written by hand (stateless API)
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 0
EPOCHS = 12
BATCH = 64
keras.utils.set_random_seed(SEED)

d = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    d.data.astype("float32"), d.target.astype("int32"), test_size=0.3, random_state=SEED)

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(96, use_bias=False),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.Dense(48, use_bias=False),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.Dense(10),
])
optimizer = keras.optimizers.Adam(learning_rate=3e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer.build(model.trainable_variables)


def compute_loss(tv, ntv, x, y):
    y_pred, ntv = model.stateless_call(tv, ntv, x, training=True)
    return loss_fn(y, y_pred), (y_pred, ntv)


grad_fn = jax.value_and_grad(compute_loss, has_aux=True)


@jax.jit
def train_step(tv, ntv, ov, x, y):
    (loss, (y_pred, new_ntv)), grads = grad_fn(tv, ntv, x, y)
    tv, ov = optimizer.stateless_apply(ov, grads, tv)
    acc = (y_pred.argmax(-1) == y).mean()
    return loss, acc, tv, ntv, ov


tv = [v.value for v in model.trainable_variables]
ntv = [v.value for v in model.non_trainable_variables]
ov = [v.value for v in optimizer.variables]
rng = np.random.default_rng(SEED)
for epoch in range(EPOCHS):
    order = rng.permutation(len(x_train))
    losses, accs = [], []
    for i in range(0, len(order) - BATCH + 1, BATCH):
        j = order[i:i + BATCH]
        loss, acc, tv, ntv, ov = train_step(tv, ntv, ov, x_train[j], y_train[j])
        losses.append(float(loss))
        accs.append(float(acc))
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f} train acc {np.mean(accs):.4f}")

for v, value in zip(model.trainable_variables, tv):
    v.assign(value)
for v, value in zip(model.non_trainable_variables, ntv):
    v.assign(value)
logits = model.predict(x_test, verbose=0)
print("test acc: %.4f" % (logits.argmax(-1) == y_test).mean())
