# Max-margin classifier: labels -1 / +1 and hinge loss
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(140)
X, y = make_moons(1500, noise=0.15, random_state=140)
y = 2 * y - 1
X_tr, X_te, y_tr, y_te = train_test_split(X, y.astype("float32"), test_size=0.25, random_state=14)


def sign_accuracy(t, p):
    return keras.ops.mean(keras.ops.cast(keras.ops.equal(keras.ops.sign(p), t), "float32"))


model = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="tanh"),
])
model.compile(keras.optimizers.Adam(3e-3), loss="hinge", metrics=[sign_accuracy])
model.fit(X_tr, y_tr[:, None], epochs=25, batch_size=32, validation_data=(X_te, y_te[:, None]), verbose=2)
p = model.predict(X_te, verbose=0).ravel()
print("accuracy", (np.sign(p) == y_te).mean())
