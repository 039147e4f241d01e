import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# noisy student: 40 labelled digits, the rest gets labels when the model is sure
keras.utils.set_random_seed(33)
rng = np.random.default_rng(33)
d = load_digits()
X = (d.images / 16.0).astype("float32")
X_pool, X_test, y_pool, y_test = train_test_split(X, d.target, test_size=0.3, stratify=d.target, random_state=33)
lab = np.concatenate([np.flatnonzero(y_pool == c)[:4] for c in range(10)])
unl = np.setdiff1d(np.arange(len(X_pool)), lab)


def shaken(x, times):
    """copies moved by up to a pixel"""
    out = np.concatenate([x] * times)
    for k in range(len(out)):
        out[k] = np.roll(out[k], rng.integers(-1, 2, 2), axis=(0, 1))
    return out


def new_model():
    m = keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(24, 3, padding="same", activation="relu"),
        layers.Conv2D(48, 3, padding="same", strides=2, activation="relu"),
        layers.Flatten(),
        layers.Dropout(0.4),
        layers.Dense(10, activation="softmax"),
    ])
    m.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])
    return m


model = new_model()
model.fit(X_pool[lab], y_pool[lab], epochs=60, batch_size=16, verbose=0)
print("labelled only:", model.evaluate(X_test, y_test, verbose=0)[1])

for rnd in range(3):
    p = model.predict(X_pool[unl], verbose=0)
    conf, guess = p.max(1), p.argmax(1)
    keep = conf > 0.8
    print(f"round {rnd}: {keep.sum()} pseudo-labels, {np.mean(guess[keep] == y_pool[unl][keep]):.3f} of them right")
    xs = np.concatenate([shaken(X_pool[lab], 10), shaken(X_pool[unl][keep], 2)])
    ys = np.concatenate([np.tile(y_pool[lab], 10), np.tile(guess[keep], 2)])
    model = new_model()
    model.fit(xs, ys, epochs=12, batch_size=32, verbose=0)
    print("   test:", model.evaluate(X_test, y_test, verbose=0)[1])
