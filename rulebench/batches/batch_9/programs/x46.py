import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

def make(n):
    y = rng.integers(0, 5, n)
    x = rng.normal(0, 0.15, (n, 12, 12, 1))
    for i, k in enumerate(y):
        r, c = rng.integers(1, 6, 2)
        if k == 0: x[i, r:r + 5, c, 0] += 1
        elif k == 1: x[i, r, c:c + 5, 0] += 1
        elif k == 2: x[i, r:r + 4, c:c + 4, 0] += 1
        elif k == 3:
            for j in range(5): x[i, r + j, c + j, 0] += 1
        else:
            x[i, r + 2, c:c + 5, 0] += 1
            x[i, r:r + 5, c + 2, 0] += 1
    return x.astype("float32"), keras.utils.to_categorical(y, 5)

x_train, y_train = make(1000)
x_val, y_val = make(300)

model = keras.Sequential([
    layers.Input((12, 12, 1)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(5),
])
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=10, batch_size=32, validation_data=(x_val, y_val), verbose=2)
print("final val acc", model.evaluate(x_val, y_val, verbose=0)[1])
