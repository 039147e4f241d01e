import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(108)
d = load_digits()
rng = np.random.default_rng(108)
idx = rng.permutation(len(d.images))
x = (d.images[idx] / 16).astype("float32")[..., None]
y = d.target[idx]
# pretext: which of the four rotations
rot = rng.integers(0, 4, len(x))
xr = np.stack([np.rot90(a, k) for a, k in zip(x, rot)])

backbone = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.MaxPooling2D(),
    layers.Conv2D(48, 3, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.Flatten(),
], name="backbone")
pre = keras.Sequential([backbone, layers.Dense(4, activation="softmax")])
pre.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
pre.fit(xr[:1400], rot[:1400], epochs=6, batch_size=32, verbose=2)

backbone.trainable = False
inp = keras.Input((8, 8, 1))
feat = backbone(inp, training=False)
out = layers.Dense(10, activation="softmax")(feat)
clf = keras.Model(inp, out)
clf.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
clf.fit(x[:1400], y[:1400], epochs=8, batch_size=32, validation_data=(x[1400:], y[1400:]), verbose=2)

backbone.trainable = True
clf.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
clf.fit(x[:1400], y[:1400], epochs=4, batch_size=32, validation_data=(x[1400:], y[1400:]), verbose=2)
print("after fine-tuning", clf.evaluate(x[1400:], y[1400:], verbose=0)[1])
