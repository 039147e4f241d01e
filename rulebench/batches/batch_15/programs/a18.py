import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# small CNN on the sklearn digits
keras.utils.set_random_seed(3)
digits = load_digits()
x = digits.images[..., None].astype("float32") / 16.0
y = digits.target
x_train, x_test, y_train, y_test = train_test_split(
    x, y, test_size=0.25, random_state=0, stratify=y)
print(x_train.shape, x_test.shape, np.bincount(y_train))

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(2),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
model.summary()

model.compile(optimizer="adam",
              loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])

history = model.fit(x_train, y_train, epochs=15, batch_size=32,
                    validation_split=0.1, verbose=2)

loss, acc = model.evaluate(x_test, y_test, verbose=0)
print("test loss", loss)
print("test accuracy", acc)
