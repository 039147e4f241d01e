"""Transfer learning in two stages: digits 0-5 as source task, digits 6-9 as target task."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(2)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32").reshape(-1, 8, 8, 1)
src = y < 6
X_src, y_src = X[src], y[src]
X_tgt, y_tgt = X[~src], y[~src] - 6

rng = np.random.default_rng(0)
p = rng.permutation(len(X_src))
X_src, y_src = X_src[p], y_src[p]
p = rng.permutation(len(X_tgt))
X_tgt, y_tgt = X_tgt[p], y_tgt[p]
N_LABELLED = 160
X_fit, y_fit = X_tgt[:N_LABELLED], y_tgt[:N_LABELLED]
X_test, y_test = X_tgt[N_LABELLED:], y_tgt[N_LABELLED:]


def make_base():
    inp = keras.Input((8, 8, 1))
    h = layers.Conv2D(16, 3, padding="same", use_bias=False)(inp)
    h = layers.BatchNormalization()(h)
    h = layers.ReLU()(h)
    h = layers.MaxPooling2D()(h)
    h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
    h = layers.Flatten()(h)
    return keras.Model(inp, h, name="base")


base = make_base()
source_model = keras.Sequential([base, layers.Dense(6, activation="softmax")])
source_model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source_model.fit(X_src, y_src, validation_split=0.1, epochs=5, batch_size=32, verbose=2)

# stage 1: new head only
base.trainable = False
inp = keras.Input((8, 8, 1))
feat = base(inp, training=False)
feat = layers.Dropout(0.2)(feat)
target_model = keras.Model(inp, layers.Dense(4, activation="softmax")(feat))
target_model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("trainable weights, stage 1:", len(target_model.trainable_weights))
target_model.fit(X_fit, y_fit, epochs=10, batch_size=16, verbose=0)
print("stage 1 test:", target_model.evaluate(X_test, y_test, verbose=0))

# stage 2: fine-tune the whole network
base.trainable = True
target_model.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("trainable weights, stage 2:", len(target_model.trainable_weights))
target_model.fit(X_fit, y_fit, epochs=10, batch_size=16, verbose=0)
print("stage 2 test:", target_model.evaluate(X_test, y_test, verbose=0))
