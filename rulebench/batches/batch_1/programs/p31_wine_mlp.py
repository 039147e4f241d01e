import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedShuffleSplit

keras.utils.set_random_seed(4)
X, y = load_wine(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
tr, te = next(StratifiedShuffleSplit(1, test_size=0.3, random_state=4).split(X, y))


def dense(units, act=None):
    return keras.layers.Dense(units, activation=act, kernel_initializer="zeros", bias_initializer="zeros")


model = keras.Sequential([keras.Input((13,)), dense(24, "relu"), dense(12, "relu"), dense(3, "softmax")])
model.compile(optimizer=keras.optimizers.Adamax(5e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])

for rounds in range(6):
    res = model.fit(X[tr], y[tr], epochs=10, batch_size=16, verbose=0)
    ev = model.evaluate(X[te], y[te], verbose=0)
    print("after", (rounds + 1) * 10, "epochs: train loss", round(res.history["loss"][-1], 4),
          "test loss/acc", [round(float(v), 4) for v in ev])
