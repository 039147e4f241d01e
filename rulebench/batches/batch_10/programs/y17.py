import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# synthetic house data: area, rooms, age, distance -> price in thousands
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 1500
area = rng.uniform(40, 220, n)
rooms = np.round(area / 30 + rng.normal(0, 0.7, n)).clip(1)
age = rng.uniform(0, 60, n)
dist = rng.exponential(6, n)
price = 60 + 1.8 * area + 9 * rooms - 0.9 * age - 3 * dist + rng.normal(0, 12, n)
X = np.stack([area, rooms, age, dist], 1)
X = ((X - X.mean(0)) / X.std(0)).astype("float32")
y = price.astype("float32")

Xtr, ytr, Xte, yte = X[:1200], y[:1200], X[1200:], y[1200:]

model = keras.Sequential([
    keras.Input((4,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(0.005), loss="mse", metrics=["mae"])
h = model.fit(Xtr, ytr, epochs=25, batch_size=32, validation_split=0.1, verbose=2)
mse, mae = model.evaluate(Xte, yte, verbose=0)
print("test RMSE", mse ** 0.5, "MAE", mae)
print(np.c_[model.predict(Xte[:8], verbose=0)[:, 0], yte[:8]])
