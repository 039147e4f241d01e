import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# credit default, homework 3
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
n = 4000
age = rng.uniform(18, 75, n)
salary = rng.lognormal(10.8, 0.5, n)
debt = rng.lognormal(9.5, 0.9, n)
n_loans = rng.poisson(2, n)
late = rng.beta(1, 6, n)
z = 2.2 * (debt / salary - 0.4) + 8 * (late - 0.15) + 0.4 * (n_loans - 2) - 0.05 * (age - 45)
y = (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * z))).astype("float32")
X = np.stack([age, salary, debt, n_loans, late], axis=1).astype("float32")

cut = int(0.8 * n)
x_tr, x_te, y_tr, y_te = X[:cut], X[cut:], y[:cut], y[cut:]
print("share of defaults", y.mean())

model = keras.Sequential([
    layers.Input((5,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])
model.fit(x_tr, y_tr, batch_size=64, epochs=15, validation_data=(x_te, y_te), verbose=2)
print("test:", model.evaluate(x_te, y_te, verbose=0))
