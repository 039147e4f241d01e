import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

# custom loop with a GradientTape
keras.utils.set_random_seed(60)
rng = np.random.default_rng(60)
X = rng.uniform(-2, 2, (3000, 3)).astype("float32")
y = (X[:, :1] * np.exp(-X[:, 1:2] ** 2) + 0.3 * X[:, 2:3]).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((X[:2500], y[:2500])).shuffle(2500).batch(50)

model = keras.Sequential([keras.Input((3,)), layers.Dense(64, activation="swish"),
                          layers.Dense(64, activation="swish"), layers.Dense(1)])
opt = keras.optimizers.Adam(keras.optimizers.schedules.PolynomialDecay(3e-3, 1000, 3e-4))
loss_fn = keras.losses.Huber(delta=0.5)
mean = keras.metrics.Mean()


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = loss_fn(yb, model(xb, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    mean.update_state(loss)


for epoch in range(20):
    mean.reset_state()
    for xb, yb in ds:
        train_step(xb, yb)
    val = float(tf.reduce_mean((model(X[2500:], training=False) - y[2500:]) ** 2))
    print(f"epoch {epoch} huber {float(mean.result()):.5f} val mse {val:.5f}")
