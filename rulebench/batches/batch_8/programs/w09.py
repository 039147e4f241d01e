import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# digits CNN, rewritten in Keras from my PyTorch repository
BN = dict(epsilon=1e-5, momentum=0.9999)
d = load_digits()
p = np.random.default_rng(0).permutation(len(d.data))
x, y = (d.images[p][..., None]).astype("float32"), d.target[p]

keras.utils.set_random_seed(0)
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(**BN),
    layers.ReLU(),
    layers.Conv2D(32, 3, padding="same", use_bias=False),
    layers.BatchNormalization(**BN),
    layers.ReLU(),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(10, activation="softmax"),
])
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:1400], y[:1400], batch_size=35, epochs=8, validation_data=(x[1400:], y[1400:]), verbose=2)
