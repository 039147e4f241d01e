"""Masked-pixel pretraining, then a probe on the frozen representation."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

SEED = 14
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

X, Y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
p = rng.permutation(len(X))
X, Y = X[p], Y[p]
unlabelled, labelled, y_lab, test, y_test = X[:1000], X[1000:1400], Y[1000:1400], X[1400:], Y[1400:]

MASK = -1.0
visible = np.repeat(unlabelled, 4, axis=0)
hide = rng.random(visible.shape) < 0.5
corrupted = np.where(hide, MASK, visible).astype("float32")

encoder = keras.Sequential([keras.Input((64,)), layers.Dense(128, activation="gelu"),
                            layers.Dense(128, activation="gelu")], name="encoder")
inp = keras.Input((64,))
decoded = layers.Dense(64, name="decoder")(encoder(inp))
mae = keras.Model(inp, decoded)


def hidden_only(y_true, y_pred):
    # y_true carries the target and the indicator of hidden pixels side by side
    target, m = y_true[:, :64], y_true[:, 64:]
    return keras.ops.sum(m * keras.ops.square(target - y_pred)) / keras.ops.maximum(keras.ops.sum(m), 1.0)


mae.compile(keras.optimizers.AdamW(2e-3), loss=hidden_only)
mae.fit(corrupted, np.concatenate([visible, hide.astype("float32")], 1),
        epochs=16, batch_size=64, verbose=2)

encoder.trainable = False
probe = keras.Sequential([keras.Input((64,)), encoder, layers.BatchNormalization(momentum=0.9), layers.Dense(10)])
probe.compile(keras.optimizers.Adam(5e-3),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
probe.summary()
probe.fit(labelled, y_lab, epochs=40, batch_size=25, verbose=0)
print("probe accuracy with 400 labels: %.4f" % probe.evaluate(test, y_test, verbose=0)[1])
