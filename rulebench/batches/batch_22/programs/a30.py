import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(1234)

# hyper-parameters
batch_size = 32
epochs = 20
base_lr = 2e-3
decay_every = 5
decay_rate = 0.5

x, y = load_digits(return_X_y=True)
x = (x / 16.0).astype("float32").reshape(-1, 8, 8, 1)
order = np.random.permutation(len(x))
x, y = x[order], y[order]
x_train, y_train = x[:1400], keras.utils.to_categorical(y[:1400], 10)
x_test, y_test = x[1400:], keras.utils.to_categorical(y[1400:], 10)

lr_schedule = keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=base_lr,
    decay_steps=decay_every,
    decay_rate=decay_rate,
    staircase=True,
)

model = keras.Sequential()
model.add(keras.Input((8, 8, 1)))
model.add(layers.Conv2D(16, 3, activation="relu", padding="same"))
model.add(layers.MaxPooling2D())
model.add(layers.Conv2D(32, 3, activation="relu", padding="same"))
model.add(layers.Flatten())
model.add(layers.Dropout(0.2))
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dense(10, activation="softmax"))

model.compile(
    loss="categorical_crossentropy",
    optimizer=keras.optimizers.Adam(learning_rate=lr_schedule),
    metrics=["accuracy"],
)

history = model.fit(
    x_train,
    y_train,
    batch_size=batch_size,
    epochs=epochs,
    validation_data=(x_test, y_test),
    verbose=2,
)

score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
