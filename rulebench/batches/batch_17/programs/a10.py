import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

"""Two stage fine tuning: first only the head on a frozen body, then everything with a small rate."""


def images(rotate):
    x, y = load_digits(return_X_y=True)
    x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
    if rotate:
        x = np.rot90(x, axes=(1, 2)).copy()
    p = np.random.default_rng(1).permutation(len(x))
    return x[p], y[p]


def body():
    inp = keras.Input((8, 8, 1))
    h = layers.Conv2D(16, 3, padding="same")(inp)
    h = layers.BatchNormalization(momentum=0.9)(h)
    h = layers.ReLU()(h)
    h = layers.Conv2D(32, 3, padding="same")(h)
    h = layers.BatchNormalization(momentum=0.9)(h)
    h = layers.ReLU()(h)
    h = layers.MaxPooling2D()(h)
    return keras.Model(inp, layers.Flatten()(h), name="body")


def with_head(b, n, training=None):
    inp = keras.Input((8, 8, 1))
    h = b(inp, training=training)
    return keras.Model(inp, layers.Dense(n, activation="softmax", name="head")(h))


def main():
    keras.utils.set_random_seed(8)
    xa, ya = images(False)
    source = body()
    pre = with_head(source, 10)
    pre.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    pre.fit(xa[:1400], ya[:1400], epochs=6, batch_size=64, validation_data=(xa[1400:], ya[1400:]), verbose=2)

    xb, yb = images(True)
    target = keras.models.clone_model(source)
    target.set_weights(source.get_weights())
    target.trainable = False
    net = with_head(target, 10, training=False)
    net.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
    tr, te = slice(0, 400), slice(1400, None)
    net.fit(xb[tr], yb[tr], epochs=8, batch_size=32, validation_data=(xb[te], yb[te]), verbose=2)
    stage1 = net.evaluate(xb[te], yb[te], verbose=0)[1]

    target.trainable = True
    net.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(xb[tr], yb[tr], epochs=8, batch_size=32, validation_data=(xb[te], yb[te]), verbose=2)
    stage2 = net.evaluate(xb[te], yb[te], verbose=0)[1]
    print(f"head only {stage1:.3f}, after fine tuning {stage2:.3f}")


if __name__ == "__main__":
    main()
