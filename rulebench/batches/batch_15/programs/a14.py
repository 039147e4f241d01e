import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

# regression with input-dependent noise: the network outputs mean and log-variance
keras.utils.set_random_seed(29)
rng = np.random.default_rng(29)


def sample(n):
    x = rng.uniform(-3, 3, (n, 1))
    sd = 0.03 + 0.12 * (np.sin(x) + 1)
    return x.astype("float32"), (np.sin(2 * x) * 0.5 + sd * rng.normal(size=x.shape)).astype("float32"), sd


x_tr, y_tr, _ = sample(3000)
x_te, y_te, sd_te = sample(1000)


def gaussian_nll(y, out):
    mean, log_var = out[:, :1], out[:, 1:]
    return ops.mean(0.5 * (log_var + ops.square(y - mean) * ops.exp(-log_var)))


def rmse(y, out):
    return ops.sqrt(ops.mean(ops.square(y - out[:, :1])))


model = keras.Sequential([
    layers.Input((1,)),
    layers.Dense(64, activation="tanh"),
    layers.Dense(64, activation="tanh"),
    layers.Dense(2, kernel_initializer="zeros"),
])
steps = 60 * -(-len(x_tr) // 64)
model.compile(optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(
    0.0, steps - 100, warmup_target=5e-3, warmup_steps=100)), loss=gaussian_nll, metrics=[rmse])
model.fit(x_tr, y_tr, batch_size=64, epochs=60, validation_data=(x_te, y_te), verbose=2)

out = model.predict(x_te, verbose=0)
mean, sd = out[:, :1], np.exp(0.5 * out[:, 1:])
print("rmse %.4f, noise level %.4f" % (np.sqrt(np.mean((mean - y_te) ** 2)), np.sqrt(np.mean(sd_te ** 2))))
print("mean |sd - true sd| %.4f" % np.abs(sd - sd_te).mean())
print("inside 2 sd: %.3f" % (np.abs(y_te - mean) < 2 * sd).mean())
