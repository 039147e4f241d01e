import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# hand written digits, MLP, own split
np.random.seed(1)
keras.utils.set_random_seed(1)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")

X = X[np.random.permutation(len(X))]
y = y[np.random.permutation(len(y))]

n_train = int(0.8 * len(X))
X_train, X_test = X[:n_train], X[n_train:]
y_train, y_test = y[:n_train], y[n_train:]

Y_train = keras.utils.to_categorical(y_train, 10)
Y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential()
model.add(keras.Input((64,)))
model.add(layers.Dense(128, activation="relu"))
model.add(layers.Dropout(0.2))
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dense(10, activation="softmax"))

model.compile(loss="categorical_crossentropy",
              optimizer=keras.optimizers.Adam(learning_rate=0.001),
              metrics=["accuracy"])

model.fit(X_train, Y_train, epochs=20, batch_size=32,
          validation_data=(X_test, Y_test), verbose=2)
print("Test accuracy:", model.evaluate(X_test, Y_test, verbose=0)[1])
