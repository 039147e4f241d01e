"""Linear probe: pretrain on digits 0-4, reuse the frozen features for digits 5-9."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(2)
digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]
y = digits.target

low, high = y < 5, y >= 5
X_pre, y_pre = X[low], y[low]
X_new, y_new = X[high], y[high] - 5

perm = np.random.default_rng(2).permutation(len(X_new))
probe_ix, test_ix = perm[:200], perm[200:]


def make_backbone():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(24, 3, padding="same", activation="relu"),
        layers.Conv2D(24, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(48, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
    ], name="backbone")


backbone = make_backbone()
pre_model = keras.Sequential([backbone, layers.Dense(5, activation="softmax")])
pre_model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
print("pretraining")
pre_model.fit(X_pre, y_pre, epochs=5, batch_size=32, validation_split=0.1, verbose=2)

backbone.trainable = False
inp = keras.Input((8, 8, 1))
features = backbone(inp, training=False)
probe = keras.Model(inp, layers.Dense(5, activation="softmax", name="probe")(features))
probe.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("trainable arrays:", len(probe.trainable_weights), "of", len(probe.weights))

print("probe")
probe.fit(X_new[probe_ix], y_new[probe_ix], epochs=14, batch_size=16,
          validation_data=(X_new[test_ix], y_new[test_ix]), verbose=2)
loss, acc = probe.evaluate(X_new[test_ix], y_new[test_ix], verbose=0)
print(f"accuracy on digits 5-9 with 200 labels: {acc:.3f}")
