import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(1)
X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8, 1).astype("float32")
idx = np.random.default_rng(0).permutation(len(X))
tr, te = idx[:1400], idx[1400:]
ds = (tf.data.Dataset.from_tensor_slices((X[tr], y[tr])).shuffle(1400, seed=0).batch(32).repeat().prefetch(2))

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Rescaling(1 / 8.0, offset=-1.0),
    layers.RandomTranslation(0.1, 0.1, fill_mode="nearest"),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.Conv2D(32, 3, activation="relu", strides=2, padding="same"),
    layers.Flatten(),
    layers.Dropout(0.4),
    layers.Dense(10),
])
model.compile(optimizer=keras.optimizers.AdamW(2e-3, weight_decay=1e-3),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])

model.fit(ds, steps_per_epoch=44, epochs=15, validation_data=(X[te], y[te]), verbose=2)
print(model.evaluate(X[te], y[te], verbose=0))
