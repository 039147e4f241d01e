import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(3)
keras.utils.set_random_seed(3)
# rooms, size in 100 m2, age in decades, distance to centre -> price in 100k
n = 1500
rooms = rng.integers(1, 7, n)
size = rooms * 0.25 + rng.normal(0, 0.1, n) + 0.2
age = rng.uniform(0, 8, n)
dist = rng.exponential(1.0, n)
price = 1.0 + 2.5 * size - 0.12 * age + 1.5 * np.exp(-dist) + rng.normal(0, 0.15, n)
X = np.stack([rooms, size, age, dist], 1).astype("float32")
y = price.astype("float32")
X = (X - X.mean(0)) / X.std(0)
X_train, y_train, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

model = keras.Sequential([
    layers.Input((4,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
model.fit(X_train, y_train, epochs=30, batch_size=32, validation_data=(X_test, y_test), verbose=2)
pred = model.predict(X_test, verbose=0).ravel()
print("first predictions", pred[:8])
print("first prices     ", y_test[:8])
print("R2", 1 - ((pred - y_test) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum())
