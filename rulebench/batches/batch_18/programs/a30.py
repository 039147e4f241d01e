import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)
digits = load_digits()
X = digits.images[..., None].astype("float32") / 16.0
Y = keras.utils.to_categorical(digits.target, 10)
X_tr, X_te, Y_tr, Y_te = train_test_split(X, Y, test_size=0.2, random_state=0)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(momentum=0.9),
    layers.Activation("relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", use_bias=False),
    layers.BatchNormalization(momentum=0.9),
    layers.Activation("relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(5e-3),
              loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
              metrics=["accuracy"])
model.fit(X_tr, Y_tr, batch_size=32, epochs=8, validation_data=(X_te, Y_te), verbose=2,
          callbacks=[keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.5)])
print("test accuracy %.3f" % model.evaluate(X_te, Y_te, verbose=0)[1])
