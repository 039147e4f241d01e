"""Functional-API multi-task model: class + rotation angle from one small trunk."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
d = load_digits()
ang = rng.uniform(-30, 30, len(d.images))
x = np.stack([rotate(im, a, reshape=False, order=1) for im, a in zip(d.images, ang)]) / 16.0
x = x[..., None].astype("float32")
targets = {"digit": d.target, "angle": (ang / 30).astype("float32")}

inp = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, activation="relu", padding="same")(inp)
h = layers.Conv2D(16, 3, activation="relu")(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu")(h)
model = keras.Model(inp, {"digit": layers.Dense(10, activation="softmax", name="digit")(h),
                          "angle": layers.Dense(1, activation="tanh", name="angle")(h)})
model.compile("adam",
              loss={"digit": "sparse_categorical_crossentropy", "angle": "mse"},
              loss_weights={"digit": 1.0, "angle": 10.0},
              metrics={"digit": "accuracy", "angle": "mae"})
cut = 1400
hist = model.fit(x[:cut], {k: v[:cut] for k, v in targets.items()},
                 validation_data=(x[cut:], {k: v[cut:] for k, v in targets.items()}),
                 epochs=12, batch_size=32, verbose=0)
for e in range(0, 12, 3):
    print("epoch", e, {k: round(v[e], 4) for k, v in hist.history.items() if "val" in k})
