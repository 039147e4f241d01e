import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(17)
X, y = load_digits(return_X_y=True)
X = (X.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
perm = np.random.default_rng(17).permutation(len(X))
X, y = X[perm], y[perm]

# step 1: train on the classes 0-5
src = y < 6
backbone = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalAveragePooling2D(),
], name="backbone")
pre = keras.Sequential([backbone, layers.Dense(6, activation="softmax")])
pre.compile(optimizer=keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
pre.fit(X[src], y[src], epochs=8, batch_size=32, verbose=2)

# step 2: classes 6-9, few labels, frozen backbone
tgt = ~src
Xt, yt = X[tgt], y[tgt] - 6
backbone.trainable = False
model = keras.Sequential([backbone, layers.Dense(4, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(2e-2), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(Xt[:160], yt[:160], epochs=12, batch_size=16, verbose=2)
print("frozen:", model.evaluate(Xt[160:], yt[160:], verbose=0))

# step 3: unfreeze, small learning rate
backbone.trainable = True
model.compile(optimizer=keras.optimizers.Adam(5e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(Xt[:160], yt[:160], epochs=12, batch_size=16, verbose=2)
print("fine-tuned:", model.evaluate(Xt[160:], yt[160:], verbose=0))
