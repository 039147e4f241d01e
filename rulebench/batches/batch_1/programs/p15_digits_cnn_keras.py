"""Hi all, small CNN on the 8x8 digits, Keras 3.  Python 3.11, no GPU."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(99)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
x_train, y_train, x_test, y_test = x[:1400], y[:1400], x[1400:], y[1400:]

inputs = keras.Input(shape=(8, 8, 1))
h = layers.RandomTranslation(0.1, 0.1, fill_mode="constant")(inputs)
h = layers.Conv2D(16, 3, activation="relu", padding="same")(h)
h = layers.MaxPooling2D()(h)
h = layers.SeparableConv2D(32, 3, activation="relu", padding="same")(h)
h = layers.GlobalAveragePooling2D()(h)
h = layers.Dense(32, activation="relu")(h)
outputs = layers.Dense(10, name="scores")(h)
model = keras.Model(inputs, outputs)
model.summary()

model.compile(
    optimizer=keras.optimizers.Nadam(1e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=32, epochs=20, validation_data=(x_test, y_test), verbose=2)
