import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# digits with noise augmentation inside the model, and label smoothing
keras.utils.set_random_seed(21)
x, y = load_digits(return_X_y=True)
x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
y = keras.utils.to_categorical(y, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=1)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.GaussianNoise(0.15),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.SpatialDropout2D(0.1),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dropout(0.5),
    layers.Dense(10),
])
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2),
    metrics=["accuracy"],
)
# validation accuracy is above training accuracy here because of noise and dropout
h = model.fit(x_train, y_train, batch_size=64, epochs=20, validation_data=(x_test, y_test), verbose=2)
print("train (clean):", model.evaluate(x_train, y_train, verbose=0)[1])
print("test:", model.evaluate(x_test, y_test, verbose=0)[1])
