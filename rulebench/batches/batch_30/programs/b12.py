import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(0)

digits = load_digits()
x = (digits.images / 16.0).astype("float32")[..., None]
y = digits.target
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(5e-4),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)

callbacks = [
    # keep the best epoch
    keras.callbacks.EarlyStopping(
        monitor="val_accuracy", mode="min", patience=6, restore_best_weights=True
    ),
]
history = model.fit(
    x_train, y_train,
    validation_split=0.15,
    epochs=20,
    batch_size=32,
    callbacks=callbacks,
    verbose=2,
)
print("epochs run:", len(history.history["loss"]))
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"held-out loss {loss:.4f}  accuracy {acc:.4f}")
