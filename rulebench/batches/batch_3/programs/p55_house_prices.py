"""House prices regression with Keras (synthetic)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

SEED = 0
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

n = 1500
area = rng.uniform(40, 260, n)
rooms = rng.integers(1, 8, n)
age = rng.uniform(0, 90, n)
dist = rng.exponential(6.0, n)
lot = area * rng.uniform(1, 5, n)
price = 1.5 * area + 12 * rooms - 0.8 * age - 4 * dist + 0.05 * lot + rng.normal(0, 10, n)   # in thousands

X = np.stack([area, rooms, age, dist, lot], axis=1).astype("float32")
y = price.astype("float32")
X_train, X_test = X[:1200], X[1200:]
y_train, y_test = y[:1200], y[1200:]
y_mean, y_std = y_train.mean(), y_train.std()

normalizer = layers.Normalization(axis=-1)
normalizer.adapt(X_train)

inputs = keras.Input(shape=(5,))
x = normalizer(inputs)
x = layers.Dense(64, activation="relu")(inputs)
x = layers.Dense(32, activation="relu")(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)

model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.01, momentum=0.9), loss="mse", metrics=["mae"])
model.fit(X_train, (y_train - y_mean) / y_std, validation_split=0.2, epochs=30, batch_size=32, verbose=2)

pred = model.predict(X_test, verbose=0)[:, 0] * y_std + y_mean
print("test MAE in thousands:", np.abs(pred - y_test).mean())
