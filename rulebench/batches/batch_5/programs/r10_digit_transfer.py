import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(1)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).reshape(-1, 8, 8, 1).astype("float32")
src, tgt = y < 6, y >= 6

backbone = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(24, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
    layers.Conv2D(48, 3, padding="same", strides=2), layers.BatchNormalization(), layers.ReLU(),
    layers.Flatten(), layers.Dense(64, activation="relu"),
], name="backbone")

# ---- stage 1: digits 0-5 -------------------------------------------------
pre = keras.Sequential([backbone, layers.Dense(6)])
pre.compile(keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
pre.fit(X[src], y[src], epochs=6, batch_size=32, validation_split=0.1, verbose=2)

# ---- stage 2: digits 6-9, few labels, features fixed ----------------------
Xa, X_test, ya, y_test = train_test_split(X[tgt], y[tgt] - 6, train_size=160, stratify=y[tgt], random_state=0)
X_tr, X_val, y_tr, y_val = train_test_split(Xa, ya, test_size=40, stratify=ya, random_state=0)

backbone.trainable = False
inp = keras.Input((8, 8, 1))
h = backbone(inp, training=False)
h = layers.Dropout(0.2)(h)
model = keras.Model(inp, layers.Dense(4)(h))
model.compile(keras.optimizers.Adam(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.summary()
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True)
model.fit(X_tr, y_tr, epochs=60, batch_size=20, validation_data=(X_val, y_val), callbacks=[stop], verbose=2)
print("target test loss/acc:", model.evaluate(X_test, y_test, verbose=0))
