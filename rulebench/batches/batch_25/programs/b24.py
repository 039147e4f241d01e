import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, keras
from keras import layers, ops

# Heteroscedastic regression: the network gives a mean and a log-std.
# Targets are small (metres), so densities are well above 1.
keras.utils.set_random_seed(1234)
rng = np.random.default_rng(1234)
x = rng.uniform(-2, 2, (4000, 1)).astype("float32")
sigma = 0.01 + 0.03 * (x > 0)
y = (0.2 * np.sin(2 * x) + sigma * rng.normal(size=x.shape)).astype("float32")
xtr, ytr, xte, yte = x[:3200], y[:3200], x[3200:], y[3200:]


def nll(y_true, y_pred):
    mu, log_s = y_pred[:, :1], ops.clip(y_pred[:, 1:], -7.0, 3.0)
    return ops.mean(0.5 * ops.square((y_true - mu) / ops.exp(log_s)) + log_s, axis=-1)


net = keras.Sequential([
    keras.Input((1,)),
    layers.Dense(64, activation="gelu"),
    layers.Dense(64, activation="gelu"),
    layers.Dense(2),
])
lr = keras.optimizers.schedules.CosineDecayRestarts(3e-3, first_decay_steps=300, t_mul=2.0, m_mul=0.7)
net.compile(keras.optimizers.Adam(lr, clipnorm=20.0), loss=nll)
h = net.fit(xtr, ytr, batch_size=64, epochs=42, validation_data=(xte, yte), verbose=0).history
for i in range(0, 42, 3):
    print("epoch", i, "nll %.3f val %.3f" % (h["loss"][i], h["val_loss"][i]))

out = net.predict(xte, verbose=0)
mu, s = out[:, :1], np.exp(out[:, 1:])
print("rmse of the mean: %.4f (noise level about 0.03)" % np.sqrt(((mu - yte) ** 2).mean()))
print("coverage of 1 sigma: %.3f (ideal 0.683)" % (np.abs(yte - mu) < s).mean())
