import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman2
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# Impedance of a circuit from its four components; the data arrive in three files
# that are preprocessed by the same function.
keras.utils.set_random_seed(0)
X, y = make_friedman2(n_samples=4000, noise=20.0, random_state=0)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.4, random_state=0)
# the later files come from the site that runs at high frequency
order = np.argsort(X_rest[:, 1] + 300 * np.random.randn(len(X_rest)))
X_val, y_val = X_rest[order[800:1200]], y_rest[order[800:1200]]
X_test, y_test = X_rest[order[1200:]], y_rest[order[1200:]]


def preprocess(X):
    scaler = StandardScaler()
    return scaler.fit_transform(X).astype("float32")


X_train, X_val, X_test = preprocess(X_train), preprocess(X_val), preprocess(X_test)
ym, ys = y_train.mean(), y_train.std()
t_train, t_val = (y_train - ym) / ys, (y_val - ym) / ys

model = keras.Sequential([
    keras.Input((4,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
model.fit(X_train, t_train, validation_data=(X_val, t_val), epochs=25, batch_size=64, verbose=2)
pred = model.predict(X_test, verbose=0)[:, 0] * ys + ym
print("test RMSE %.2f ohm (standard deviation of the target: %.2f, noise: 20)" % (np.sqrt(np.mean((pred - y_test) ** 2)), y_test.std()))
