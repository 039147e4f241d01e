import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

np.random.seed(42)
keras.utils.set_random_seed(42)

digits = load_digits()
X = digits.images.astype("float32") / 16.0
y = digits.target
X = X[..., None]

# shuffle before splitting
np.random.shuffle(X)
np.random.shuffle(y)

n = int(0.8 * len(X))
X_train, y_train = X[:n], y[:n]
X_val, y_val = X[n:], y[n:]
y_train = keras.utils.to_categorical(y_train, 10)
y_val = keras.utils.to_categorical(y_val, 10)

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
model.summary()
h = model.fit(X_train, y_train, batch_size=64, epochs=10, validation_data=(X_val, y_val), verbose=2)
print("best val acc:", max(h.history["val_accuracy"]))
