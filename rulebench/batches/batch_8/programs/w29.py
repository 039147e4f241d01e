import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
protos = rng.normal(size=(10, 16, 16, 1))


def sample(classes, n):
    y = rng.integers(0, len(classes), n)
    x = protos[np.array(classes)[y]] + rng.normal(0, 1.0, (n, 16, 16, 1))
    return x.astype("float32"), y


# 1) a backbone trained on six source classes
xs, ys = sample([0, 1, 2, 3, 4, 5], 2000)
backbone = keras.Sequential([
    layers.Input((16, 16, 1)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Conv2D(16, 3, strides=2, activation="relu"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
], name="backbone")
source = keras.Sequential([backbone, layers.Dense(6, activation="softmax")])
source.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source.fit(xs, ys, epochs=4, verbose=2)

# 2) transfer to four new classes
xt, yt = sample([6, 7, 8, 9], 1200)
model = keras.Sequential([backbone, layers.Dense(32, activation="relu"), layers.Dense(4, activation="softmax")])
model.build((None, 16, 16, 1))
for layer in model.layers:
    layer.trainable = False
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(xt[:900], yt[:900], epochs=15, validation_data=(xt[900:], yt[900:]), verbose=2)
