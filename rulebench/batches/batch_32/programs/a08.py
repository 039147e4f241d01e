import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

# Vibration signals of 8 machines; recordings are stored one machine after the other.
SEED = 8
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
N_CLASS, PER, LEN = 8, 500, 64


def record(c, n):
    t = np.arange(LEN)
    f = 0.05 + 0.012 * c
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    s = np.sin(2 * np.pi * f * t + ph) + 0.4 * np.sin(4 * np.pi * f * t + ph * 1.3)
    return (s + 0.6 * rng.normal(size=(n, LEN))).astype("float32")


train_x = np.concatenate([record(c, PER) for c in range(N_CLASS)])[..., None]
train_y = np.repeat(np.arange(N_CLASS), PER)
test_x = np.concatenate([record(c, 100) for c in range(N_CLASS)])[..., None]
test_y = np.repeat(np.arange(N_CLASS), 100)

BATCH = 32
train_ds = (tf.data.Dataset.from_tensor_slices((train_x, train_y))
            .shuffle(100)
            .batch(BATCH)
            .prefetch(tf.data.AUTOTUNE))
test_ds = tf.data.Dataset.from_tensor_slices((test_x, test_y)).batch(200)

net = keras.Sequential([
    layers.Input((LEN, 1)),
    layers.Conv1D(16, 7, padding="same"), layers.BatchNormalization(), layers.ReLU(),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 7, padding="same"), layers.BatchNormalization(), layers.ReLU(),
    layers.GlobalAveragePooling1D(),
    layers.Dense(N_CLASS),
])
net.compile(optimizer=keras.optimizers.Adam(2e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"])
net.fit(train_ds, epochs=12, validation_data=test_ds, verbose=2)
print("test accuracy", round(net.evaluate(test_ds, verbose=0)[1], 4))
