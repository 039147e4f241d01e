"""Keras: one value of the data is missing, and is nan.

From the batch that holds it on every loss is nan. When did it begin, and where? Runs on any of
Keras' backends: `KERAS_BACKEND=torch`, `jax` or `tensorflow`.

    stepwatch run examples/04_keras.py

Found: `non_finite_origin`, with the step and the output that had it first. Mended where the data
are read.
"""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1024, 12)).astype("float32")
y = x @ rng.normal(size=(12, 1)).astype("float32")
x[700, 3] = np.nan  # the mistake: a gap in the table

model = keras.Sequential(
    [
        keras.Input((12,)),
        keras.layers.Dense(32, activation="relu", name="hidden"),
        keras.layers.Dense(1, name="head"),
    ]
)
model.compile(keras.optimizers.Adam(1e-2), "mse")
history = model.fit(x, y, batch_size=32, epochs=2, shuffle=False, verbose=0)
print("loss of each epoch", history.history["loss"])
