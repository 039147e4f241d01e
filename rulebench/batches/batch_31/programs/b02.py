import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

seed = 7
keras.utils.set_random_seed(seed)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).reshape(-1, 8, 8, 1).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.15, stratify=y_train, random_state=seed)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(48, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dropout(0.3),
    layers.Dense(10, activation="softmax"),
])
model.summary()
model.compile(optimizer=keras.optimizers.Adam(1e-3),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=32, epochs=15,
          validation_data=(X_val, y_val), verbose=2)
loss, acc = model.evaluate(X_test, y_test, verbose=0)
print("Test loss %.4f, test accuracy %.4f" % (loss, acc))
