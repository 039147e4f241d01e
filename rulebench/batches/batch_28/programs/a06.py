import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 4
keras.utils.set_random_seed(SEED)

digits = load_digits()
x = digits.images.astype("float32")[..., None] / 16.0
y = keras.utils.to_categorical(digits.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=SEED, stratify=digits.target)

batch_size, epochs = 64, 25

model = keras.Sequential()
model.add(keras.Input(shape=(8, 8, 1)))
model.add(layers.Conv2D(32, (3, 3), activation="relu"))
model.add(layers.Conv2D(32, (3, 3), activation="relu"))
model.add(layers.MaxPooling2D((2, 2)))
model.add(layers.Dropout(0.25))
model.add(layers.Flatten())
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dropout(0.5))
model.add(layers.Dense(10, activation="softmax"))

model.compile(loss="categorical_crossentropy",
              optimizer=keras.optimizers.Adadelta(learning_rate=1.0, rho=0.95),
              metrics=["accuracy"])
h = model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, verbose=0, validation_data=(x_test, y_test))
for i in range(0, epochs, 4):
    print("epoch", i + 1, {k: round(v[i], 4) for k, v in h.history.items()})
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", round(score[0], 4))
print("Test accuracy:", round(score[1], 4))
