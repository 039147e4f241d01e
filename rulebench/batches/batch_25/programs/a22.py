import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

"""
## Undercomplete autoencoder

A bottleneck of 12 numbers for 64 pixels. Reconstruction is compared with PCA of the same size.
"""
SEED = 9
keras.utils.set_random_seed(SEED)
x = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(x)
x_train, x_test = x[:1400], x[1400:]

encoder = keras.Sequential([layers.Input((64,)), layers.GaussianNoise(0.05), layers.Dense(96, activation="relu"),
                            layers.Dense(12)])
decoder = keras.Sequential([layers.Input((12,)), layers.Dense(96, activation="relu"),
                            layers.Dense(64, activation="sigmoid")])
autoencoder = keras.Sequential([encoder, decoder])
autoencoder.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy")

"""
## Training
"""
history = autoencoder.fit(x_train, x_train, epochs=40, batch_size=64, shuffle=True,
                          validation_data=(x_test, x_test), verbose=0)
for i in range(0, 40, 5):
    print(f"epoch {i:3d}  loss {history.history['loss'][i]:.4f}  val_loss {history.history['val_loss'][i]:.4f}")

"""
## Comparison
"""
rec = autoencoder.predict(x_test, verbose=0)
mse = float(((rec - x_test) ** 2).mean())
m = x_train.mean(0)
_, _, vt = np.linalg.svd(x_train - m, full_matrices=False)
pca = (x_test - m) @ vt[:12].T @ vt[:12] + m
print(f"test MSE autoencoder {mse:.5f}, PCA {float(((pca - x_test) ** 2).mean()):.5f}, mean image {float(((m - x_test) ** 2).mean()):.5f}")
