import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np, keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# Kaggle digit-recognizer style notebook (small digits)
keras.utils.set_random_seed(2)
digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]
y = digits.target
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=2, stratify=y)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, random_state=2, stratify=y_tr)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dropout(0.3),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(5e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])

cbs = [
    keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="min", patience=8,
                                  restore_best_weights=True, verbose=1),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=4, verbose=1),
]
h = model.fit(X_tr, y_tr, validation_data=(X_va, y_va), epochs=40, batch_size=32, callbacks=cbs, verbose=2)
print("epochs run:", len(h.history["loss"]))
pred = model.predict(X_te, verbose=0).argmax(1)
print("test accuracy:", round(float((pred == y_te).mean()), 4))
