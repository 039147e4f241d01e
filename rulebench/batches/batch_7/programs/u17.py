import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras.layers import Input, Dense, Dropout
from keras.models import Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(9)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=9)

model = Sequential([
    Input((64,)),
    Dense(64, activation="relu"),
    Dropout(0.9),
    Dense(32, activation="relu"),
    Dropout(0.9),
    Dense(10, activation="softmax"),
])
model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=25, batch_size=32, validation_data=(X_test, y_test), verbose=2)
print("Test acc", model.evaluate(X_test, y_test, verbose=0)[1])
