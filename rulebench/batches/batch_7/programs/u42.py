# House prices with a small neural network
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Dense, Input

np.random.seed(42)
keras.utils.set_random_seed(42)

n = 1500
area = np.random.uniform(40, 250, n)
rooms = np.random.randint(1, 7, n)
age = np.random.uniform(0, 60, n)
dist = np.random.exponential(8, n)
price = 1.9 * area + 12 * rooms - 0.8 * age - 3.0 * dist + np.random.normal(0, 12, n) + 60   # thousands

X = np.stack([area, rooms, age, dist], axis=1)
mean, std = X[:1200].mean(0), X[:1200].std(0)
X = (X - mean) / std
X_train, X_test = X[:1200], X[1200:]
y_train, y_test = price[:1200], price[1200:]

model = Sequential()
model.add(Input(shape=(4,)))
model.add(Dense(64, activation="relu"))
model.add(Dense(32, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.005), metrics=["mae"])

history = model.fit(X_train, y_train, epochs=40, batch_size=32, validation_split=0.1, verbose=2)
pred = model.predict(X_test, verbose=0).ravel()
print("first predictions:", pred[:5], "true:", y_test[:5])
print("test MAE: %.2f" % np.abs(pred - y_test).mean())
