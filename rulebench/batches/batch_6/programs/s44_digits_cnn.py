import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np, keras
from keras import layers, models
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(33)
digits = load_digits()
x = (digits.images / 16.0)[..., None].astype("float32")
y = keras.utils.to_categorical(digits.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=33)

keep_prob = 0.9
model = models.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dropout(keep_prob),
    layers.Dense(32, activation="relu"),
    layers.Dropout(keep_prob),
    layers.Dense(10, activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(1e-3), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=14, verbose=2)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss: %.4f  Test accuracy: %.4f" % tuple(score))
