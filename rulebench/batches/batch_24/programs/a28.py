"""Shared trunk with three heads: shape class, size, and angle of a drawn rectangle/ellipse."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(40)
SIZE = 24


def render(rng):
    kind = rng.integers(0, 2)
    a, b = rng.uniform(6, 10), rng.uniform(2.5, 4.0)
    theta = rng.uniform(0, np.pi)
    yy, xx = np.mgrid[:SIZE, :SIZE] - SIZE / 2 + 0.5
    u = (xx * np.cos(theta) + yy * np.sin(theta)) / a
    v = (-xx * np.sin(theta) + yy * np.cos(theta)) / b
    inside = (u ** 2 + v ** 2 < 1) if kind else (np.maximum(abs(u), abs(v)) < 0.886)
    img = inside + rng.normal(0, 0.1, (SIZE, SIZE))
    area = inside.sum() / SIZE ** 2
    # angle is only defined modulo 180 degrees
    return img, kind, area, np.array([np.cos(2 * theta), np.sin(2 * theta)])


def make(n, seed):
    rng = np.random.default_rng(seed)
    img, kind, area, ang = zip(*[render(rng) for _ in range(n)])
    x = np.stack(img)[..., None].astype("float32")
    y = {"kind": np.array(kind, "float32")[:, None],
         "area": np.array(area, "float32")[:, None],
         "angle": np.stack(ang).astype("float32")}
    return x, y


x_train, y_train = make(1600, 0)
x_test, y_test = make(400, 1)
area_mu, area_sd = y_train["area"].mean(), y_train["area"].std()
for part in (y_train, y_test):
    part["area"] = (part["area"] - area_mu) / area_sd

inp = keras.Input((SIZE, SIZE, 1))
h = inp
for f in (12, 24):
    h = layers.Conv2D(f, 3, padding="same", activation="relu")(h)
    h = layers.MaxPooling2D()(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu")(h)
kind = layers.Dense(1, activation="sigmoid", name="kind")(h)
area = layers.Dense(1, name="area")(h)
angle = layers.Dense(2, name="angle")(h)
model = keras.Model(inp, {"kind": kind, "area": area, "angle": angle})

model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss={"kind": "binary_crossentropy", "area": "mse", "angle": "mse"},
    loss_weights={"kind": 1.0, "area": 0.5, "angle": 0.5},
    metrics={"kind": "accuracy", "area": "mae"},
)
model.fit(x_train, y_train, batch_size=32, epochs=10, validation_data=(x_test, y_test), verbose=2)

pred = model.predict(x_test, verbose=0)
print("kind accuracy", np.mean((pred["kind"] > 0.5) == (y_test["kind"] > 0.5)))
print("area r2", 1 - np.mean((pred["area"] - y_test["area"]) ** 2) / y_test["area"].var())
t = np.arctan2(pred["angle"][:, 1], pred["angle"][:, 0]) / 2
s = np.arctan2(y_test["angle"][:, 1], y_test["angle"][:, 0]) / 2
err = np.abs((t - s + np.pi / 2) % np.pi - np.pi / 2)
print("median angle error, degrees", np.degrees(np.median(err)))
