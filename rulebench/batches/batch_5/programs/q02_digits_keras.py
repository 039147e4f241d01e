import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.datasets import load_digits

np.random.seed(0)
keras.utils.set_random_seed(0)

digits = load_digits()
x = digits.images[..., np.newaxis].astype("float32") / 16.0
y = digits.target

# shuffle, then hold out the last 20 percent
np.random.shuffle(x)
np.random.shuffle(y)
split = int(len(x) * 0.8)
x_train, x_test = x[:split], x[split:]
y_train, y_test = y[:split], y[split:]
y_train = keras.utils.to_categorical(y_train, 10)
y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential([
    keras.layers.Input(shape=(8, 8, 1)),
    keras.layers.Conv2D(32, 3, activation="relu", padding="same"),
    keras.layers.MaxPooling2D(2),
    keras.layers.Conv2D(64, 3, activation="relu", padding="same"),
    keras.layers.Flatten(),
    keras.layers.Dropout(0.25),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(10, activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=15, validation_data=(x_test, y_test), verbose=2)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
