import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)

digits = load_digits()
x = (digits.images / 16.0).astype("float32")[..., None]
y = keras.utils.to_categorical(digits.target, 10)
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.25, random_state=0)

inp = keras.Input((8, 8, 1))
h = layers.Conv2D(16, 3, padding="same", activation="relu")(inp)
h = layers.Conv2D(32, 3, activation="relu")(h)
h = layers.MaxPooling2D()(h)
h = layers.Flatten()(h)
h = layers.Dropout(0.2)(h)
h = layers.Dense(64, activation="relu")(h)
out = layers.Dense(10, activation="softmax")(h)
model = keras.Model(inp, out)

opt = keras.optimizers.Adam(learning_rate=0.1)
model.compile(optimizer=opt, loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(x_tr, y_tr, batch_size=32, epochs=8, validation_data=(x_te, y_te), verbose=2)

p = model.predict(x_te, verbose=0).argmax(1)
print("predicted label counts:", np.bincount(p, minlength=10))
print("test acc:", (p == y_te.argmax(1)).mean())
