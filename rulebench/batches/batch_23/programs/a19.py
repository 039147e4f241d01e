"""Sensor autoencoder for anomaly detection, written with separate encoder and decoder."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.metrics import roc_auc_score

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
CHANNELS, CODE = 40, 4


def machine_states(n):
    z = rng.normal(size=(n, CODE))
    return z


mix1 = rng.normal(size=(CODE, 24)) / 2
mix2 = rng.normal(size=(24, CHANNELS)) / 5


def readings(z):
    return (np.tanh(z @ mix1) @ mix2 + 0.05 * rng.normal(size=(len(z), CHANNELS))).astype("float32")


x_train = readings(machine_states(4000))
x_ok = readings(machine_states(800))
x_bad = readings(machine_states(800))
for row in x_bad:
    hit = rng.choice(CHANNELS, 3, replace=False)
    row[hit] += rng.choice([-0.6, 0.6], 3)

mu, sd = x_train.mean(0), x_train.std(0)
x_train, x_ok, x_bad = ((a - mu) / sd for a in (x_train, x_ok, x_bad))

encoder = keras.Sequential([
    keras.Input((CHANNELS,)),
    layers.Dense(32, activation="elu"),
    layers.Dense(CODE),
], name="encoder")
decoder = keras.Sequential([
    keras.Input((CODE,)),
    layers.Dense(32, activation="elu"),
    layers.Dense(CHANNELS),
], name="decoder")

optimizer = keras.optimizers.Adam(3e-3)
mse = keras.losses.MeanSquaredError()
dataset = tf.data.Dataset.from_tensor_slices(x_train).shuffle(4000, seed=6).batch(64)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        code = encoder(x, training=True)
        rebuilt = decoder(code, training=True)
        loss = mse(x, rebuilt)
    variables = decoder.trainable_variables
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))
    return loss


for epoch in range(25):
    losses = [float(train_step(xb)) for xb in dataset]
    if epoch % 3 == 0 or epoch == 24:
        print(f"epoch {epoch:2d}  reconstruction loss {np.mean(losses):.4f}")


def score(x):
    return ((decoder(encoder(x)).numpy() - x) ** 2).mean(1)


s_ok, s_bad = score(x_ok), score(x_bad)
labels = np.r_[np.zeros(len(s_ok)), np.ones(len(s_bad))]
print(f"mean score ok {s_ok.mean():.4f}  bad {s_bad.mean():.4f}")
print(f"detection AUC {roc_auc_score(labels, np.r_[s_ok, s_bad]):.4f}")
