import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# wheat kernels, three varieties
rng = np.random.default_rng(30)
n = 210 * 6
variety = rng.integers(1, 4, n)
centres = np.array([[14.5, 5.5, 3.2, 2.6], [18.3, 6.1, 3.7, 3.6], [11.9, 5.2, 2.9, 4.8]])
X = centres[variety - 1] + rng.normal(0, [1.0, 0.2, 0.15, 1.0], (n, 4))
X = (X - X.mean(0)) / X.std(0)

keras.utils.set_random_seed(30)
model = keras.Sequential([
    layers.Input((4,)),
    layers.Dense(16, activation="tanh"),
    layers.Dense(3, activation="softmax"),
])
model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:1000], variety[:1000], epochs=30, batch_size=32,
          validation_data=(X[1000:], variety[1000:]), verbose=2)
pred = model.predict(X[1000:], verbose=0).argmax(1)
print("predicted class counts", np.bincount(pred, minlength=3))
