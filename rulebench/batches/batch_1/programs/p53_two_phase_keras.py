"""Two-phase transfer: pretrain a conv base on an easy synthetic task, freeze it, train a head, then unfreeze with a tiny lr."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(6)
d = load_digits()
x = (d.images[..., None] / 16).astype("float32")
y = d.target
src = y < 6
rng = np.random.default_rng(6)


def make_base():
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"), layers.BatchNormalization(),
        layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
    ], name="base")


base = make_base()
pre = keras.Sequential([base, layers.Dense(6)])
ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
pre.compile("adam", ce, metrics=["accuracy"])
print("--- pretraining on 0..5")
pre.fit(x[src], y[src], epochs=5, batch_size=32, verbose=2)

xt, yt = x[~src], y[~src] - 6
perm = rng.permutation(len(xt)); xt, yt = xt[perm], yt[perm]
base.trainable = False
inp = keras.Input((8, 8, 1))
h = base(inp, training=False)
h = layers.Dropout(0.3)(h)
model = keras.Model(inp, layers.Dense(4)(h))
model.compile(keras.optimizers.Adam(2e-3), ce, metrics=["accuracy"])
print("--- head only, 150 examples")
model.fit(xt[:150], yt[:150], epochs=25, batch_size=15, validation_data=(xt[300:], yt[300:]), verbose=2)

base.trainable = True
model.compile(keras.optimizers.Adam(1e-5), ce, metrics=["accuracy"])
print("--- fine-tuning everything, lr 1e-5")
model.fit(xt[:150], yt[:150], epochs=8, batch_size=15, validation_data=(xt[300:], yt[300:]), verbose=2)
