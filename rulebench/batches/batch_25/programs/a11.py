import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import ops

# Heteroscedastic regression: the net says mean and log-variance of the sensor reading.
SEED = 14
keras.utils.set_random_seed(SEED)


def simulate(n):
    x = np.random.uniform(-2, 2, (n, 1)).astype("float32")
    sigma = 0.02 + 0.06 * (x > 0)
    y = np.sin(2 * x) * 0.5 + 0.2 * x + sigma * np.random.randn(n, 1)
    return x, y.astype("float32")


def gaussian_nll(y_true, y_pred):
    mean, logvar = y_pred[:, :1], y_pred[:, 1:]
    return ops.mean(0.5 * (logvar + ops.square(y_true - mean) * ops.exp(-logvar)), axis=-1)


x, y = simulate(3000)
xt, yt = simulate(1000)
inp = keras.Input((1,))
z = keras.layers.Dense(64, activation="tanh")(inp)
z = keras.layers.Dense(64, activation="tanh")(z)
out = keras.layers.Dense(2)(z)
model = keras.Model(inp, out)
model.compile(optimizer=keras.optimizers.Adam(3e-3, clipnorm=1.0), loss=gaussian_nll)
rec = model.fit(x, y, epochs=30, batch_size=64, validation_data=(xt, yt), verbose=0)
for e in range(0, 30, 3):
    print("epoch %2d  nll %.4f  val nll %.4f" % (e, rec.history["loss"][e], rec.history["val_loss"][e]))

o = model.predict(xt, verbose=0)
sd = np.exp(0.5 * o[:, 1])
print("RMSE %.4f (spread of target %.4f)" % (np.sqrt(((o[:, :1] - yt) ** 2).mean()), yt.std()))
print("predicted sd left %.3f right %.3f" % (sd[xt[:, 0] < 0].mean(), sd[xt[:, 0] > 0].mean()))
