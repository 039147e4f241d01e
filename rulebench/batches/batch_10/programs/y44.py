import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(1)
X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8, 1).astype("float32") / 16.0
y = keras.utils.to_categorical(y, 10)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=1)

model = keras.models.Sequential()
model.add(keras.Input((8, 8, 1)))
model.add(layers.Conv2D(16, (3, 3), activation="relu", padding="same"))
model.add(layers.MaxPooling2D())
model.add(layers.Conv2D(32, (3, 3), activation="relu", padding="same"))
model.add(layers.Flatten())
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy",
              optimizer=keras.optimizers.Adam(learning_rate=0.5), metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=64, epochs=15, validation_data=(X_val, y_val), verbose=2)
score = model.evaluate(X_val, y_val, verbose=0)
print("Validation loss:", score[0], "accuracy:", score[1])
