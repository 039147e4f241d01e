import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(3)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32").reshape(-1, 8, 8, 1)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=0)

EPOCHS = 20
lr = keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=0.05, decay_steps=1, decay_rate=0.8, staircase=True)

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=lr, momentum=0.9),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=EPOCHS, batch_size=32, validation_data=(X_val, y_val), verbose=2)
print("val acc", model.evaluate(X_val, y_val, verbose=0)[1])
