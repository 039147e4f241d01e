import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(13)
d = load_digits()
x = (d.images[..., None] / 16.0).astype("float32")
y = keras.utils.to_categorical(d.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=13)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Conv2D(32, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(10),
])
loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
model.compile(optimizer=keras.optimizers.Nadam(1e-3), loss=loss, metrics=["accuracy"])
model.fit(x_train, y_train, epochs=10, batch_size=32, validation_data=(x_test, y_test), verbose=2)
print(model.evaluate(x_test, y_test, verbose=0))
