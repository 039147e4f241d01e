import os
os.environ["KERAS_BACKEND"] = "tensorflow"
# Denoising autoencoder (targets are the clean images)
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(3)
x = (load_digits().images / 16.0)[..., None].astype("float32")
np.random.shuffle(x)
x_train, x_test = x[:1500], x[1500:]
noise = lambda a: np.clip(a + 0.4 * np.random.normal(size=a.shape), 0, 1).astype("float32")
x_train_n, x_test_n = noise(x_train), noise(x_test)

inp = keras.Input((8, 8, 1))
h = layers.Conv2D(24, 3, padding="same", activation="relu")(inp)
h = layers.MaxPooling2D(2)(h)
h = layers.Conv2D(24, 3, padding="same", activation="relu")(h)
h = layers.UpSampling2D(2)(h)
h = layers.Conv2D(24, 3, padding="same", activation="relu")(h)
out = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(h)
ae = keras.Model(inp, out)
ae.compile(keras.optimizers.Adam(3e-3), loss="binary_crossentropy", metrics=["mse"])
ae.fit(x_train_n, x_train, epochs=14, batch_size=64, validation_data=(x_test_n, x_test), verbose=2)
print("mse noisy %.4f -> denoised %.4f" % (((x_test_n - x_test) ** 2).mean(), ((ae.predict(x_test_n, verbose=0) - x_test) ** 2).mean()))
