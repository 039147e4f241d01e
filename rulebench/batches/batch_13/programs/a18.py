import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import f1_score

# which shapes are in the picture? several can be there at once
rng = np.random.default_rng(21)
keras.utils.set_random_seed(21)
NAMES = ["hline", "vline", "box", "cross"]


def draw(flags):
    im = rng.normal(0, 0.15, (16, 16))
    for k in np.flatnonzero(flags):
        r, c = rng.integers(1, 10, 2)
        if k == 0:
            im[r, c:c + 6] += 1
        elif k == 1:
            im[r:r + 6, c] += 1
        elif k == 2:
            im[r:r + 4, c:c + 4] += 1
        else:
            for j in range(5):
                im[r + j, c + j] += 1
                im[r + j, c + 4 - j] += 1
    return im


Y = (rng.random((2400, 4)) < 0.4).astype("float32")
X = np.stack([draw(f) for f in Y])[..., None].astype("float32")
Xtr, Xte, Ytr, Yte = X[:2000], X[2000:], Y[:2000], Y[2000:]

model = keras.Sequential([
    layers.Input((16, 16, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalMaxPooling2D(),
    layers.Dense(len(NAMES), activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="binary_crossentropy",
              metrics=["binary_accuracy"])
model.fit(Xtr, Ytr, batch_size=32, epochs=8, validation_data=(Xte, Yte), verbose=2)
P = model.predict(Xte, verbose=0) > 0.5
for k, name in enumerate(NAMES):
    print(name, "F1 %.3f" % f1_score(Yte[:, k], P[:, k]))
