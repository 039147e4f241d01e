import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

# two moons, output is a logit
keras.utils.set_random_seed(0)
X, y = make_moons(1500, noise=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

model = keras.Sequential([
    layers.Input((2,)),
    layers.Dense(32, activation="tanh"),
    layers.Dense(32, activation="tanh"),
    layers.Dense(1),
])
model.compile(
    optimizer=keras.optimizers.SGD(0.2, momentum=0.9),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")],
)
model.fit(X_train, y_train, epochs=20, batch_size=32, verbose=2, validation_data=(X_test, y_test))

logits = model.predict(X_test, verbose=0)[:, 0]
print("accuracy", ((logits > 0) == y_test).mean())
