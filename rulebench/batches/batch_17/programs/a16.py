import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

"""Course exercise 6: pretrain on digits 0-4, keep the body fixed, learn 5-9 from few examples."""


def get_data():
    x, y = load_digits(return_X_y=True)
    x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], y[order]
    low = y < 5
    return (x[low], y[low]), (x[~low], y[~low] - 5)


def make_body():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(24, activation="relu"),
        layers.Dense(8, activation="relu", name="features"),
    ], name="body")


def pretrain(body, x, y):
    net = keras.Sequential([body, layers.Dense(5, activation="softmax")])
    net.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(x, y, epochs=20, batch_size=32, validation_split=0.15, verbose=2)
    return net


def transfer(body, x, y, shots):
    frozen = keras.models.clone_model(body)
    frozen.trainable = False
    net = keras.Sequential([keras.Input((8, 8, 1)), frozen,
                            layers.Dense(5, activation="softmax")])
    net.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
    idx = np.concatenate([np.flatnonzero(y == c)[:shots] for c in range(5)])
    rest = np.setdiff1d(np.arange(len(y)), idx)
    net.fit(x[idx], y[idx], epochs=40, batch_size=25, verbose=0)
    train_acc = net.evaluate(x[idx], y[idx], verbose=0)[1]
    test_acc = net.evaluate(x[rest], y[rest], verbose=0)[1]
    return train_acc, test_acc


def main():
    keras.utils.set_random_seed(2)
    (xa, ya), (xb, yb) = get_data()
    body = make_body()
    pretrain(body, xa, ya)
    for shots in (10, 20):
        tr, te = transfer(body, xb, yb, shots)
        print(f"{shots} examples per new digit: train {tr:.3f} test {te:.3f}")


if __name__ == "__main__":
    main()
