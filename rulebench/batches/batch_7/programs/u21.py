import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(5)

wine = load_wine()
x_train, x_test, y_train, y_test = train_test_split(
    wine.data.astype("float32"), wine.target, test_size=0.3, random_state=10, stratify=wine.target)
print(wine.feature_names)
print(x_train[:3])

model = keras.Sequential([
    keras.Input(shape=(13,)),
    layers.Dense(24, activation="relu"),
    layers.Dense(12, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.01, momentum=0.9),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(x_train, y_train, epochs=80, batch_size=16, verbose=0, validation_data=(x_test, y_test))
print("train acc", h.history["accuracy"][::10])
print("val loss", h.history["val_loss"][::10])
print("test", model.evaluate(x_test, y_test, verbose=0))
