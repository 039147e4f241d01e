import os
os.environ["KERAS_BACKEND"] = "jax"
import keras, numpy as np
from keras import ops

SEED = 12
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

# Sensor calibration: the reading error depends on the working point.
n = 5000
x = rng.uniform(-2, 2, (n, 1)).astype("float32")
true_sigma = 0.02 + 0.06 * (1 + np.tanh(2 * x)) / 2
y = (0.5 * np.sin(2.5 * x) + true_sigma * rng.normal(size=x.shape)).astype("float32")
xt, yt, xv, yv = x[:4000], y[:4000], x[4000:], y[4000:]


def nll(y_true, out):
    mu, log_s = out[:, :1], ops.clip(out[:, 1:], -6.0, 4.0)
    return ops.mean(0.5 * ((y_true - mu) / ops.exp(log_s)) ** 2 + log_s, axis=-1)


m = keras.Sequential([keras.Input((1,)),
                      keras.layers.Dense(48, "swish"),
                      keras.layers.Dense(48, "swish"),
                      keras.layers.Dense(2)])
m.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, 60 * 63)), loss=nll)
cb = keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: e % 6 == 5 and print(
    "epoch %d  loss %.3f  val_loss %.3f" % (e + 1, logs["loss"], logs["val_loss"])))
m.fit(xt, yt, batch_size=64, epochs=60, validation_data=(xv, yv), verbose=0, callbacks=[cb])

o = m.predict(xv, verbose=0)
mu, s = o[:, :1], np.exp(o[:, 1:])
inside = np.mean(np.abs(yv - mu) < 1.96 * s)
print("rmse of mean vs clean curve: %.4f" % np.sqrt(np.mean((mu - 0.5 * np.sin(2.5 * xv)) ** 2)))
print("coverage of the 95%% band: %.3f, correlation of sigma with truth: %.3f, val nll %.3f" % (
    inside, np.corrcoef(s[:, 0], 0.02 + 0.06 * (1 + np.tanh(2 * xv[:, 0])) / 2)[0, 1], m.evaluate(xv, yv, verbose=0)))
