"""Simple convnet on the 8x8 digits."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(812)

data = load_digits()
x = np.expand_dims(data.images.astype("float32") / 16, -1)
y = keras.utils.to_categorical(data.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=812)
print("x_train shape:", x_train.shape, "| test samples:", len(x_test))

model = keras.Sequential([
    keras.Input(shape=(8, 8, 1)),
    layers.Conv2D(16, kernel_size=3, padding="same", activation="relu"),
    layers.MaxPooling2D(pool_size=2),
    layers.Conv2D(32, kernel_size=3, padding="same", activation="relu"),
    layers.GlobalMaxPooling2D(),
    layers.Dropout(0.25),
    layers.Dense(10, activation="softmax"),
])
model.summary()
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(3e-3), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=20, validation_split=0.1, verbose=2)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", round(score[0], 4))
print("Test accuracy:", round(score[1], 4))
