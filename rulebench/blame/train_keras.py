"""The same regression by ``fit`` of Keras."""

import keras

from rulebench.blame.planted import BATCH, regression, seed

keras.utils.set_random_seed(seed())
inputs, targets = regression(seed())
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01, clipnorm=1.0), loss="mse")
model.fit(inputs, targets, batch_size=BATCH, shuffle=False, verbose=0)
