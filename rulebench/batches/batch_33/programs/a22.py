import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(19)

# 1) many unlabelled digits: learn features with a convolutional autoencoder
# 2) 100 labelled digits: small classifier on the frozen features
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
p = np.random.permutation(len(x))
unlab, lab, test = p[:1200], p[1200:1300], p[1300:]

encoder = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
    layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dense(24, activation="relu"),
    layers.Dense(12, activation="tanh", name="code"),
], name="encoder")
decoder = keras.Sequential([
    keras.Input((12,)),
    layers.Dense(128, activation="relu"),
    layers.Dense(64, activation="sigmoid"),
    layers.Reshape((8, 8, 1)),
], name="decoder")

inp = keras.Input((8, 8, 1))
auto = keras.Model(inp, decoder(encoder(inp)))
auto.compile("adam", "binary_crossentropy")
auto.fit(x[unlab], x[unlab], epochs=40, batch_size=32, verbose=0)
print("autoencoder loss on test images: %.4f" % auto.evaluate(x[test], x[test], verbose=0))

# separate copy, so that later experiments with the autoencoder do not disturb the classifier
backbone = keras.models.clone_model(encoder)
backbone.trainable = False

clf = keras.Sequential([
    keras.Input((8, 8, 1)),
    backbone,
    layers.Dense(10, activation="softmax"),
])
clf.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
for e in range(6):
    h = clf.fit(x[lab], y[lab], epochs=10, batch_size=20, verbose=0).history
    print("epoch %d loss %.4f acc %.3f" % ((e + 1) * 10, h["loss"][-1], h["accuracy"][-1]))
print("test accuracy with 100 labels: %.4f" % clf.evaluate(x[test], y[test], verbose=0)[1])
