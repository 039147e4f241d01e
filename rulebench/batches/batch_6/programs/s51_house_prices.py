import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.layers import Dense, Input
from keras.models import Sequential
from keras.optimizers import SGD

np.random.seed(4)
keras.utils.set_random_seed(4)
n = 1500
area = np.random.uniform(40, 250, n)
rooms = np.clip(np.round(area / 30 + np.random.randn(n)), 1, 9)
year = np.random.randint(1930, 2020, n)
dist = np.random.exponential(6, n)
price = 1.8 * area + 9 * rooms + 0.6 * (year - 1930) - 5 * np.minimum(dist, 20) + 15 * np.random.randn(n)  # in thousands
X = np.column_stack([area, rooms, year, dist])
Y = price.reshape(-1, 1)
X_train, X_test, Y_train, Y_test = X[:1200], X[1200:], Y[:1200], Y[1200:]

model = Sequential()
model.add(Input((4,)))
model.add(Dense(16, activation="relu"))
model.add(Dense(8, activation="relu"))
model.add(Dense(1))
model.compile(loss="mean_squared_error", optimizer=SGD(learning_rate=0.01))
model.fit(X_train, Y_train, epochs=15, batch_size=32, verbose=2)
pred = model.predict(X_test, verbose=0)
print("Test RMSE (k):", float(np.sqrt(np.mean((pred - Y_test) ** 2))))
