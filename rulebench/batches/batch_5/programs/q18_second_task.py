import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(12)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
p = np.random.permutation(len(y))
x, y = x[p], y[p]

base = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.ReLU(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
], name="base")

# stage 1: the small digits
m = y < 5
first = keras.Sequential([base, layers.Dense(5, activation="softmax")])
first.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
first.fit(x[m], y[m], epochs=6, batch_size=32, verbose=2)

# stage 2: the large digits, only 100 labelled examples
m = y >= 5
xt, yt = x[m], y[m] - 5
base.trainable = False
inp = keras.Input((8, 8, 1))
h = base(inp, training=False)
h = layers.Dropout(0.2)(h)
out = layers.Dense(5, kernel_regularizer=keras.regularizers.L2(1e-3))(h)
second = keras.Model(inp, out)
second.compile(keras.optimizers.Adam(5e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
               metrics=["accuracy"])
print("trainable tensors:", len(second.trainable_variables), "of", len(second.variables))
second.fit(xt[:100], yt[:100], epochs=40, batch_size=20, validation_data=(xt[100:], yt[100:]), verbose=2)
