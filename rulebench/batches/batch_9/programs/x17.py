import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(13)
x = load_digits().data.astype("float32") / 16.0
rng = np.random.default_rng(13)
rng.shuffle(x)
x_train, x_test = x[:1500], x[1500:]

# this is the size of our encoded representations
encoding_dim = 24
input_img = keras.Input(shape=(64,))
encoded = layers.Dense(encoding_dim, activation="relu")(input_img)
decoded = layers.Dense(64, activation="sigmoid")(encoded)
autoencoder = keras.Model(input_img, decoded)
encoder = keras.Model(input_img, encoded)

autoencoder.compile(optimizer="adadelta", loss="binary_crossentropy")
autoencoder.fit(x_train, x_train, epochs=30, batch_size=32, shuffle=True, validation_data=(x_test, x_test), verbose=2)

decoded_imgs = autoencoder.predict(x_test, verbose=0)
print("code mean activation", encoder.predict(x_test, verbose=0).mean())
print("mse", ((decoded_imgs - x_test) ** 2).mean(), "variance of the pixels", x_test.var(0).mean())
