import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits

# Digits, very small training set (400 images), so lots of regularisation:
# mixup + label smoothing + dropout. Soft targets, hence CategoricalCrossentropy.
SEED = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

data = load_digits()
x = (data.images / 16.0).astype("float32")[..., None]
y = keras.utils.to_categorical(data.target, 10).astype("float32")
idx = rng.permutation(len(x))
tr, te = idx[:400], idx[400:]


def mixup(xb, yb):
    n = tf.shape(xb)[0]
    g1, g2 = tf.random.gamma([n], 0.6), tf.random.gamma([n], 0.6)
    lam = g1 / (g1 + g2)
    perm = tf.random.shuffle(tf.range(n))
    lx, ly = tf.reshape(lam, [-1, 1, 1, 1]), tf.reshape(lam, [-1, 1])
    return lx * xb + (1 - lx) * tf.gather(xb, perm), ly * yb + (1 - ly) * tf.gather(yb, perm)


train_ds = (tf.data.Dataset.from_tensor_slices((x[tr], y[tr]))
            .shuffle(400).batch(32).map(mixup).prefetch(1))
test_ds = tf.data.Dataset.from_tensor_slices((x[te], y[te])).batch(256)

inp = keras.Input((8, 8, 1))
h = layers.Conv2D(24, 3, padding="same", activation="relu")(inp)
h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
h = layers.MaxPooling2D()(h)
h = layers.SpatialDropout2D(0.2)(h)
h = layers.Flatten()(h)
h = layers.Dropout(0.5)(h)
h = layers.Dense(64, activation="relu")(h)
h = layers.Dropout(0.4)(h)
out = layers.Dense(10)(h)
model = keras.Model(inp, out)

model.compile(keras.optimizers.AdamW(2e-3, weight_decay=1e-3),
              keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
              metrics=["accuracy"])
for block in range(5):
    h = model.fit(train_ds, epochs=10, validation_data=test_ds, verbose=0)
    log = {k: round(v[-1], 3) for k, v in h.history.items()}
    print("after", (block + 1) * 10, "epochs:", log)

print("test accuracy:", round(model.evaluate(test_ds, verbose=0)[1], 4))
