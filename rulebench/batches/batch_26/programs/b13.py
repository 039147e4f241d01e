# Few-shot transfer on digits: pretrain on the ten classes, reuse the convolutional trunk
# for "prime or not" with only 20 labelled images per class.
import os

os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(7)
digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]
y = digits.target

half = np.random.permutation(len(X))
Xs, ys = X[half[:1000]], y[half[:1000]]
Xt, yt = X[half[1000:]], np.isin(y[half[1000:]], [2, 3, 5, 7]).astype("int32")


def build_trunk():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(12, activation="relu", name="code"),
        ],
        name="trunk",
    )


# ---- stage 1 ---------------------------------------------------------
trunk = build_trunk()
source_model = keras.Sequential([trunk, layers.Dense(10, activation="softmax")])
source_model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source_model.fit(Xs, ys, epochs=15, batch_size=32, validation_split=0.1, verbose=2)

# ---- stage 2 ---------------------------------------------------------
# work on a copy so that the source model stays usable
encoder = keras.models.clone_model(trunk)
encoder.trainable = False

rng = np.random.default_rng(7)
few = np.concatenate([rng.choice(np.where(yt == c)[0], 20, replace=False) for c in range(2)])
rest = np.setdiff1d(np.arange(len(yt)), few)

target_model = keras.Sequential([keras.Input((8, 8, 1)), encoder, layers.Dense(2, activation="softmax")])
target_model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("trainable weights:", len(target_model.trainable_weights))
target_model.fit(Xt[few], yt[few], epochs=60, batch_size=10, verbose=0)
_, acc_few = target_model.evaluate(Xt[few], yt[few], verbose=0)
_, acc = target_model.evaluate(Xt[rest], yt[rest], verbose=0)
print("accuracy on the few labelled images: %.3f" % acc_few)
print("accuracy on the unlabelled images: %.3f" % acc)
