"""Transfer learning: backbone trained on plain shapes, head trained on a new label set."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(29)
rng = np.random.default_rng(29)
SIZE = 16


def draw(kind, n):
    """Grey-value images 0..255 with one shape each."""
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    out = np.zeros((n, SIZE, SIZE))
    for i in range(n):
        cy, cx, r = rng.uniform(5, 11), rng.uniform(5, 11), rng.uniform(3, 5)
        dy, dx = np.abs(yy - cy), np.abs(xx - cx)
        m = {"disc": dy ** 2 + dx ** 2 < r * r,
             "square": np.maximum(dy, dx) < r * 0.85,
             "diamond": dy + dx < r * 1.1,
             "hbar": (dy < 1.3) & (dx < r),
             "vbar": (dx < 1.3) & (dy < r),
             "ring": np.abs(dy ** 2 + dx ** 2 - r * r) < 2 * r,
             "cross": ((dy < 1.3) | (dx < 1.3)) & (np.maximum(dy, dx) < r),
             "xshape": (np.abs(dy - dx) < 1.3) & (np.maximum(dy, dx) < r)}[kind]
        out[i] = 60 + m * rng.uniform(70, 130) + 15 * rng.normal(size=(SIZE, SIZE))
    return np.clip(out, 0, 255)[..., None].astype("uint8")


def dataset(kinds, per_class):
    x = np.concatenate([draw(k, per_class) for k in kinds])
    y = np.repeat(np.arange(len(kinds)), per_class)
    p = rng.permutation(len(x))
    return x[p], y[p]


x_src, y_src = dataset(["disc", "square", "hbar", "vbar", "ring"], 300)
x_new, y_new = dataset(["diamond", "cross", "xshape"], 60)
x_test, y_test = dataset(["diamond", "cross", "xshape"], 150)

backbone = keras.Sequential([
    keras.Input((SIZE, SIZE, 1)),
    layers.Conv2D(16, 3, padding="same", activation="tanh"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="tanh"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(48, activation="tanh"),
], name="backbone")

source_model = keras.Sequential([backbone, layers.Dense(5, activation="softmax")])
source_model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False)
source_model.fit(x_src.astype("float32") / 127.5 - 1.0, y_src, epochs=8, batch_size=32,
                 validation_split=0.1, verbose=2)

backbone.trainable = False
inp = keras.Input((SIZE, SIZE, 1))
h = backbone(inp, training=False)
h = layers.Dropout(0.1)(h)
new_model = keras.Model(inp, layers.Dense(3, activation="softmax")(h))
new_model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False)
new_model.fit(x_new.astype("float32"), y_new, epochs=20, batch_size=16,
              validation_data=(x_test.astype("float32"), y_test), verbose=2)

loss, acc = new_model.evaluate(x_test.astype("float32"), y_test, verbose=0)
print(f"new classes: test loss {loss:.3f}, accuracy {acc:.3f}")
