import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)

# sensor calibration: the noise level depends on the input
def measure(n):
    x = rng.uniform(-3, 3, size=(n, 1))
    sigma = 0.05 + 0.08 * (x > 0) * np.abs(x)
    y = 0.5 * np.sin(1.5 * x) + 0.1 * x + rng.normal(size=(n, 1)) * sigma
    return x.astype("float32"), y.astype("float32"), sigma


x_train, y_train, _ = measure(3000)
x_test, y_test, sigma_test = measure(1000)


def gaussian_nll(y_true, y_pred):
    mean, log_var = y_pred[:, :1], y_pred[:, 1:]
    log_var = ops.clip(log_var, -12.0, 6.0)
    return 0.5 * (log_var + ops.square(y_true - mean) * ops.exp(-log_var))


inp = keras.Input((1,))
h = layers.Dense(48, activation="tanh")(inp)
h = layers.Dense(48, activation="tanh")(h)
mean = layers.Dense(1)(h)
log_var = layers.Dense(1, kernel_initializer="zeros")(h)
model = keras.Model(inp, layers.Concatenate()([mean, log_var]))
schedule = keras.optimizers.schedules.CosineDecay(5e-3, decay_steps=20 * int(np.ceil(len(x_train) / 64)))
model.compile(optimizer=keras.optimizers.Adam(schedule, clipnorm=1.0), loss=gaussian_nll)
model.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=20, batch_size=64, verbose=2)

out = model.predict(x_test, verbose=0)
mu, sd = out[:, :1], np.exp(0.5 * out[:, 1:])
print("RMSE of the mean on the quiet side: %.4f" % np.sqrt(np.mean((mu - y_test)[x_test < 0] ** 2)))
print("coverage of the 90%% interval: %.3f" % np.mean(np.abs(y_test - mu) < 1.645 * sd))
print("correlation of predicted and true sigma: %.3f" % np.corrcoef(sd.ravel(), sigma_test.ravel())[0, 1])
