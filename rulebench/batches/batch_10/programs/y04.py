import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# prices are log-normal, so the network predicts log1p(price)
keras.utils.set_random_seed(102)
rng = np.random.default_rng(102)
n = 1800
X = rng.normal(size=(n, 6))
price = np.exp(11.5 + 0.5 * X[:, 0] - 0.3 * X[:, 1] * (X[:, 2] > 0) + 0.2 * X[:, 3] ** 2 + 0.1 * rng.normal(size=n))
y = np.log1p(price)
tr, va, te = slice(0, 1200), slice(1200, 1500), slice(1500, n)
mean, std = y[tr].mean(), y[tr].std()
target = (y - mean) / std

model = keras.Sequential([
    keras.Input((6,)),
    layers.Dense(64, activation="gelu"),
    layers.Dense(64, activation="gelu"),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(2e-3), loss="mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True)
model.fit(X[tr], target[tr], validation_data=(X[va], target[va]), epochs=50, batch_size=32,
          callbacks=[stop], verbose=2)
pred = np.expm1(model.predict(X[te], verbose=0)[:, 0] * std + mean)
print("median relative error: %.3f" % np.median(np.abs(pred - price[te]) / price[te]))
