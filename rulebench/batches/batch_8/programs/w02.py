import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# sanity check before the real run: can the network memorise one batch of 32 images?
keras.utils.set_random_seed(150)
rng = np.random.default_rng(150)
x = rng.normal(size=(32, 12, 12, 3)).astype("float32")
y = rng.integers(0, 5, 32)
model = keras.Sequential([
    keras.Input((12, 12, 3)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(5, activation="softmax"),
])
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(x, y, batch_size=32, epochs=120, verbose=0)
for e in range(0, 120, 10):
    print(e, h.history["loss"][e], h.history["accuracy"][e])
print("memorised:", h.history["accuracy"][-1] == 1.0)
