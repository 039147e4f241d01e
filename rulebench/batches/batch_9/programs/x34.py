import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_moons

keras.utils.set_random_seed(102)
X, y = make_moons(1000, noise=0.2, random_state=102)
X_train, y_train, X_val, y_val = X[:700], y[:700], X[700:], y[700:]

model = keras.Sequential([
    layers.Input((2,)),
    layers.Dense(50, activation="tanh"),
    layers.Dense(50, activation="tanh"),
    layers.Dense(1),
])
model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True), optimizer=keras.optimizers.Adam(0.01),
              metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")])
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True)
h = model.fit(X_train, y_train, epochs=60, batch_size=32, validation_data=(X_val, y_val), callbacks=[stop], verbose=2)
print("stopped after", len(h.history["loss"]), "epochs; val", model.evaluate(X_val, y_val, verbose=0))
