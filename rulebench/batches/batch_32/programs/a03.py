import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import r2_score

# Homework 4: predict the energy output of a machine from 10 sensor readings.
SEED = 3
keras.utils.set_random_seed(SEED)
X, y = make_friedman1(n_samples=5000, n_features=10, noise=0.8, random_state=SEED)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=SEED)

xs, ys = StandardScaler(), StandardScaler()
X_train = xs.fit_transform(X_train)
X_test = xs.transform(X_test)
y_train = ys.fit_transform(y_train.reshape(-1, 1))
y_test_scaled = ys.transform(y_test.reshape(-1, 1))

# energy is never below zero
model = keras.Sequential([
    layers.Input(shape=(10,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(1, activation="relu"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.summary()

hist = model.fit(X_train, y_train, validation_data=(X_test, y_test_scaled),
                 epochs=30, batch_size=64, verbose=2)

pred = ys.inverse_transform(model.predict(X_test, verbose=0))
print("R2 on the test set: %.3f" % r2_score(y_test, pred))
