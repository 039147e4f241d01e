import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(33)
EPOCHS = 25
BATCH = 32

X, y = load_digits(return_X_y=True)
X = X.astype("float32") / 16
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=33)

# learning rate decay
schedule = keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=0.01, decay_steps=5, decay_rate=0.5)

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(48, activation="relu"),
    layers.Dense(48, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.SGD(schedule, momentum=0.9),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=BATCH, epochs=EPOCHS, validation_data=(X_val, y_val), verbose=2)
print("final:", model.evaluate(X_val, y_val, verbose=0))
