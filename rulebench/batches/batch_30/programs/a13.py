"""Transfer: a small ConvNet is trained on digits 0-4, then only a new head learns 5-9 from few examples."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

SEED = 6
keras.utils.set_random_seed(SEED)
data = load_digits()
imgs = (data.images / 16.0).astype("float32")[..., None]
lab = data.target

src = lab < 5
x_src, y_src = imgs[src], lab[src]
x_new, y_new = imgs[~src], lab[~src] - 5
perm = np.random.default_rng(SEED).permutation(len(x_new))
few, rest = perm[:250], perm[250:]

inp = keras.Input((8, 8, 1))
h = inp
for width in (32, 64):
    h = layers.Conv2D(width, 3, padding="same", use_bias=False)(h)
    h = layers.BatchNormalization()(h)
    h = layers.ReLU()(h)
    h = layers.MaxPooling2D()(h)
base = keras.Model(inp, layers.Flatten()(h), name="base")

pre = keras.Sequential([base, layers.Dropout(0.3), layers.Dense(5, activation="softmax")])
pre.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
pre.fit(x_src, y_src, epochs=12, batch_size=32, verbose=0)
print("source accuracy", pre.evaluate(x_src, y_src, verbose=0)[1])

# the pretrained part stays as it is, BatchNorm uses its stored statistics
base.trainable = False
z = keras.Input((8, 8, 1))
f = base(z, training=False)
out = layers.Dense(5, activation="softmax", kernel_regularizer=keras.regularizers.l2(1e-4))(f)
clf = keras.Model(z, out)
clf.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("trainable", sum(int(np.prod(w.shape)) for w in clf.trainable_weights),
      "frozen", sum(int(np.prod(w.shape)) for w in clf.non_trainable_weights))
clf.fit(x_new[few], y_new[few], epochs=60, batch_size=32, verbose=2,
        validation_data=(x_new[rest], y_new[rest]), validation_freq=10)
print("accuracy on unseen images of the new digits:", round(clf.evaluate(x_new[rest], y_new[rest], verbose=0)[1], 4))
