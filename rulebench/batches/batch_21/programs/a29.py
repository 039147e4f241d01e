import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(41)

x, y = load_digits(return_X_y=True)
x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
perm = np.random.default_rng(41).permutation(len(x))
x, y = x[perm], y[perm]

# Digits 0-4 play the large source task, 5-9 the small target task.
source = y < 5
x_src, y_src = x[source], y[source]
x_tgt, y_tgt = x[~source], y[~source] - 5
x_few, y_few = x_tgt[:150], y_tgt[:150]
x_test, y_test = x_tgt[150:], y_tgt[150:]

base = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(),
    layers.ReLU(),
    layers.Conv2D(32, 3, padding="same", strides=2, activation="relu"),
    layers.Flatten(),
], name="base")

source_in = keras.Input((8, 8, 1))
source_model = keras.Model(source_in, layers.Dense(5, activation="softmax")(base(source_in)))
source_model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source_model.fit(x_src, y_src, epochs=4, batch_size=32, validation_split=0.1, verbose=2)

# New head on the frozen features
base.trainable = False
inputs = keras.Input((8, 8, 1))
h = base(inputs, training=False)
h = layers.Dropout(0.2)(h)
outputs = layers.Dense(5, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
print("trainable weights:", len(model.trainable_weights), "of", len(model.weights))
model.fit(x_few, y_few, epochs=12, batch_size=16, verbose=2)

# Fine-tune everything with a small rate
base.trainable = True
model.compile(keras.optimizers.Adam(2e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_few, y_few, epochs=6, batch_size=16, verbose=2)
print("target test:", model.evaluate(x_test, y_test, verbose=0, return_dict=True))
