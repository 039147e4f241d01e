import os
os.environ["KERAS_BACKEND"] = "torch"
# Heteroscedastic regression: the net returns mean and log-variance, Gaussian NLL may go negative
import numpy as np
import keras
from keras import layers, ops, callbacks

keras.utils.set_random_seed(22)
rng = np.random.default_rng(22)
n = 3000
wind = rng.weibull(2, n) * 8
temp = rng.normal(10, 6, n)
power = 1 / (1 + np.exp(-(wind - 9))) - 0.002 * temp
y = (power + rng.normal(0, 1, n) * (0.01 + 0.05 * np.exp(-((wind - 9) / 3) ** 2))).astype("float32")[:, None]
X = np.column_stack([wind, temp]).astype("float32")
X = (X - X[:2000].mean(0)) / X[:2000].std(0)


def gaussian_nll(y_true, out):
    mu, logvar = out[:, :1], ops.clip(out[:, 1:], -12.0, 6.0)
    return ops.mean(0.5 * (logvar + ops.square(y_true - mu) * ops.exp(-logvar)), axis=-1)


model = keras.Sequential([layers.Input((2,)), layers.Dense(32, "tanh"), layers.Dense(32, "tanh"), layers.Dense(2)])
opt = keras.optimizers.Adam(4e-3, gradient_accumulation_steps=2, global_clipnorm=5.0)
model.compile(opt, loss=gaussian_nll)
es = callbacks.EarlyStopping(monitor="val_loss", patience=6, restore_best_weights=True)
h = model.fit(X[:2000], y[:2000], validation_data=(X[2000:2500], y[2000:2500]), epochs=40, batch_size=32, callbacks=[es], verbose=2)
o = model.predict(X[2500:], verbose=0)
sd = np.exp(0.5 * o[:, 1])
z = np.abs(y[2500:, 0] - o[:, 0]) / sd
print("epochs %d, rmse %.4f, coverage of 1.645 sigma %.3f" % (len(h.history["loss"]), np.sqrt(((o[:, 0] - y[2500:, 0]) ** 2).mean()), (z < 1.645).mean()))
