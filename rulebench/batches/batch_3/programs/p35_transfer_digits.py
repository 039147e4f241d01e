# Transfer learning as in the old mnist_transfer_cnn example: digits 0-4 first, then 5-9 with frozen features
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 3
keras.utils.set_random_seed(SEED)

d = load_digits()
# bring it to 0..255 like normal grey images
x = np.round(d.images * 255 / 16).astype("uint8")[..., None]
y = d.target
lo, hi = y < 5, y >= 5


def train_model(model, data, labels, epochs, lr):
    xa, xb, ya, yb = train_test_split(data, labels, test_size=0.3, stratify=labels, random_state=SEED)
    model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(lr), metrics=["accuracy"])
    model.fit(xa, keras.utils.to_categorical(ya, 5), batch_size=64, epochs=epochs, verbose=2,
              validation_data=(xb, keras.utils.to_categorical(yb, 5)))
    return model.evaluate(xb, keras.utils.to_categorical(yb, 5), verbose=0)


feature_layers = [
    layers.Rescaling(1.0 / 127.5, offset=-1.0),
    layers.Conv2D(24, 3, activation="relu"),
    layers.Conv2D(24, 3, activation="relu"),
    layers.MaxPooling2D(2),
    layers.Flatten(),
]
classification_layers = [
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(5, activation="softmax"),
]
model = keras.Sequential([keras.Input((8, 8, 1))] + feature_layers + classification_layers)
print("first task", train_model(model, x[lo], y[lo], 15, 1e-3))

for l in feature_layers:
    l.trainable = False
print("trainable arrays left:", len(model.trainable_weights), "of", len(model.weights))
print("second task", train_model(model, x[hi], y[hi] - 5, 25, 2e-3))
