import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# 400 columns, few of them matter: strong dropout
rng = np.random.default_rng(41)
n, d = 1800, 400
X = rng.normal(size=(n, d)).astype("float32")
w = np.zeros(d)
w[:25] = rng.choice([-1, 1], 25)
y = ((X @ w) + rng.normal(0, 1, n) > 0).astype("float32")

keras.utils.set_random_seed(41)
model = keras.Sequential([
    keras.Input((d,)),
    layers.Dropout(0.5),
    layers.Dense(64, activation="relu", kernel_regularizer=keras.regularizers.l1(3e-4)),
    layers.Dropout(0.6),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])
model.fit(X[:1500], y[:1500], batch_size=30, epochs=20, validation_data=(X[1500:], y[1500:]), verbose=2)
