import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from keras.callbacks import EarlyStopping
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(101)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
x_train, x_test, y_train, y_test = train_test_split(x, d.target, test_size=0.2, random_state=101, stratify=d.target)
x_train, x_val, y_train, y_val = train_test_split(x_train, y_train, test_size=0.15, random_state=1)

augment = keras.Sequential([layers.RandomTranslation(0.1, 0.1, fill_mode="constant")])
model = keras.Sequential([
    keras.Input((8, 8, 1)),
    augment,
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.BatchNormalization(),
    layers.MaxPooling2D(),
    layers.Conv2D(48, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dropout(0.3),
    layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
stop = EarlyStopping(monitor="val_loss", patience=4, restore_best_weights=True)
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=18, batch_size=32, callbacks=[stop], verbose=2)
print("test accuracy", model.evaluate(x_test, y_test, verbose=0)[1])
