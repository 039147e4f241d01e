import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers, regularizers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

# small data, wide net: heavy regularisation on purpose
keras.utils.set_random_seed(107)
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=107, stratify=y)
norm = layers.Normalization()
norm.adapt(X_train)
model = keras.Sequential([
    keras.Input((30,)),
    norm,
    layers.GaussianNoise(0.2),
    layers.Dense(256, activation="relu", kernel_regularizer=regularizers.l2(1e-3)),
    layers.Dropout(0.6),
    layers.Dense(128, activation="relu", kernel_regularizer=regularizers.l2(1e-3)),
    layers.Dropout(0.6),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=30, batch_size=32, validation_data=(X_test, y_test), verbose=2)
print(model.evaluate(X_test, y_test, verbose=0))
