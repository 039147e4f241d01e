import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(11)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
idx = np.random.permutation(len(x))
x, y = x[idx], y[idx]
x_train, y_train, x_test, y_test = x[:1400], y[:1400], x[1400:], y[1400:]


def make_encoder():
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(8, 3, padding="same", strides=2, activation="relu"),
        layers.Conv2D(16, 3, padding="same", strides=2, activation="relu"),
        layers.Flatten(),
        layers.Dense(8, activation="relu"),
    ], name="encoder")


# step 1: pretrain an autoencoder on the unlabelled images
encoder = make_encoder()
decoder = keras.Sequential([
    layers.Input((8,)), layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="sigmoid"), layers.Reshape((8, 8, 1))])
ae = keras.Sequential([encoder, decoder])
ae.compile("adam", "mse")
ae.fit(x_train, x_train, epochs=10, batch_size=32, verbose=2)

# step 2: classifier on top of the encoder
backbone = make_encoder()
backbone.trainable = False
clf = keras.Sequential([layers.Input((8, 8, 1)), backbone, layers.Dense(10, activation="softmax")])
clf.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
clf.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=15, batch_size=32, verbose=2)
print("test acc", clf.evaluate(x_test, y_test, verbose=0)[1])
