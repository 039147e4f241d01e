import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import ops
from sklearn.model_selection import train_test_split

# Predicting not only the value but also its uncertainty.
# Fine-grained sensor: targets are of the order of 0.1, noise depends on the temperature.
SEED = 31
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

N = 4000
temp = rng.uniform(-1, 1, N)
load = rng.uniform(-1, 1, N)
sigma = 0.005 + 0.03 * (temp > 0) * temp
y = 0.1 * np.sin(3 * temp) + 0.05 * load ** 2 + sigma * rng.normal(size=N)
X = np.c_[temp, load].astype("float32")
y = y.astype("float32")[:, None]
Xtr, Xte, ytr, yte, str_, ste = train_test_split(X, y, sigma, test_size=0.25, random_state=0)


def gaussian_nll(y_true, y_pred):
    mu = y_pred[:, :1]
    log_sigma = y_pred[:, 1:]
    return ops.mean(log_sigma + 0.5 * ops.square((y_true - mu) * ops.exp(-log_sigma)), axis=-1)


inputs = keras.Input((2,))
h = keras.layers.Dense(48, activation="swish")(inputs)
h = keras.layers.Dense(48, activation="swish")(h)
mu = keras.layers.Dense(1)(h)
ls = keras.layers.Dense(1)(h)
model = keras.Model(inputs, keras.layers.Concatenate()([mu, ls]))
model.compile(optimizer=keras.optimizers.Adam(2e-3, clipnorm=5.0), loss=gaussian_nll)


class Log(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch % 5 == 0:
            print(epoch, " ".join(f"{k}={v:.3f}" for k, v in logs.items()))


model.fit(Xtr, ytr, epochs=40, batch_size=64, validation_data=(Xte, yte), verbose=0, callbacks=[Log()])
p = model.predict(Xte, verbose=0)
res = yte[:, 0] - p[:, 0]
r2 = 1 - res.var() / yte.var()
corr = np.corrcoef(np.exp(p[:, 1]), ste)[0, 1]
inside = np.mean(np.abs(res) < 1.96 * np.exp(p[:, 1]))
print(f"R2 {r2:.3f}  corr(predicted sigma, true sigma) {corr:.3f}  95% interval covers {inside:.3f}")
