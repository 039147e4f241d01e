import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)
digits = load_digits()
x = digits.images[..., np.newaxis]          # values 0..16
y = digits.target
x_train, x_test, y_train, y_test = train_test_split(
    x, y, test_size=0.25, random_state=0, stratify=y)

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Rescaling(1.0 / 16),
    layers.RandomTranslation(0.08, 0.08, fill_mode="constant"),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(2),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalMaxPooling2D(),
    layers.Dropout(0.3),
    layers.Dense(10),
])

model.compile(optimizer=keras.optimizers.Adam(3e-3),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.fit(x_train, y_train, epochs=12, batch_size=32,
          validation_data=(x_test, y_test), verbose=2)

loss, acc = model.evaluate(x_test, y_test, verbose=0)
print("test loss", loss)
print("test accuracy", acc)
pred = model.predict(x_test, verbose=0).argmax(axis=1)
print("check", (pred == y_test).mean())
