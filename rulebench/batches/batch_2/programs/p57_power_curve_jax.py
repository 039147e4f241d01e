"""Wind turbine power curve, small MLP, hold-then-change learning rate schedule."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import math
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(20)
rng = np.random.default_rng(20)
n = 2000
wind = rng.weibull(2.0, n) * 8
temp = rng.normal(10, 8, n)
turb = rng.gamma(2, 0.05, n)
rho = 1.225 * 283 / (273 + temp)
power = np.clip(0.5 * rho * 0.45 * wind ** 3 * (1 - turb), 0, 400) / 400 + 0.01 * rng.normal(size=n)
X = np.stack([wind / 8 - 1, (temp - 10) / 8, turb * 10 - 1], 1).astype("float32")
y = power.astype("float32")[:, None]

model = keras.Sequential([layers.Input((3,)), layers.Dense(40, activation="tanh"),
                          layers.Dense(40, activation="tanh"), layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.03, momentum=0.9), loss="mse")


def schedule(epoch, lr):
    # keep for ten epochs, then move exponentially
    if epoch < 10:
        return lr
    return lr * math.exp(0.35)


class Log(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d} loss {logs['loss']:.5f} val_loss {logs['val_loss']:.5f}")


model.fit(X[:1600], y[:1600], validation_data=(X[1600:], y[1600:]), epochs=34, batch_size=64, verbose=0,
          callbacks=[keras.callbacks.LearningRateScheduler(schedule), Log()])
