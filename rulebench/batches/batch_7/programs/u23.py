# wide network, strong dropout, small training set
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, regularizers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(70)
X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X / 16.0, y, train_size=500, random_state=70, stratify=y)
model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(1024, activation="relu", kernel_regularizer=regularizers.l2(1e-5)),
    layers.Dropout(0.7),
    layers.Dense(512, activation="relu"),
    layers.Dropout(0.6),
    layers.Dense(10, activation="softmax"),
])
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_tr, y_tr, epochs=40, batch_size=50, validation_data=(X_te, y_te), verbose=2)
print("test accuracy %.4f" % model.evaluate(X_te, y_te, verbose=0)[1])
