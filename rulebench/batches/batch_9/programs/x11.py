import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)
names = ["circle", "cross", "diagonal", "square", "stripes"]
yy, xx = np.mgrid[0:16, 0:16]

def draw(kind):
    img = rng.normal(0, 0.2, (16, 16))
    cx, cy, r = rng.integers(6, 10), rng.integers(6, 10), rng.integers(3, 6)
    if kind == "circle": img += (np.abs(np.hypot(xx - cx, yy - cy) - r) < 0.8)
    if kind == "cross": img += (np.abs(xx - cx) < 1) | (np.abs(yy - cy) < 1)
    if kind == "diagonal": img += (np.abs(xx - cx - yy + cy) < 1)
    if kind == "square": img += (np.maximum(np.abs(xx - cx), np.abs(yy - cy)) == r)
    if kind == "stripes": img += ((xx + cx) // 2 % 2 == 0)
    return img

data, labels = [], []
for k, name in enumerate(names):
    for _ in range(240):
        data.append(draw(name))
        labels.append(k)
data = np.array(data, dtype="float32")[..., None]
labels = np.array(labels)

model = keras.Sequential([
    layers.Input((16, 16, 1)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(len(names), activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(data, labels, epochs=12, batch_size=32, validation_split=0.2, verbose=2)
print("train", h.history["accuracy"][-1], "val", h.history["val_accuracy"][-1])
