import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)
X, y = load_digits(return_X_y=True)
X = X / 16.0
Y = keras.utils.to_categorical(y)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.25, random_state=0)

init = keras.initializers.Zeros()
model = keras.Sequential()
model.add(keras.Input((64,)))
model.add(layers.Dense(64, activation="relu", kernel_initializer=init))
model.add(layers.Dense(64, activation="relu", kernel_initializer=init))
model.add(layers.Dense(10, activation="softmax", kernel_initializer=init))
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.SGD(0.1), metrics=["accuracy"])
model.fit(X_train, Y_train, epochs=20, batch_size=32, verbose=2, validation_data=(X_test, Y_test))
score = model.evaluate(X_test, Y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
