import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 7
keras.utils.set_random_seed(SEED)

d = load_digits()
X = (d.images / 16.0)[..., None].astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, d.target, test_size=0.25, random_state=SEED, stratify=d.target)

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dropout(0.25),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_tr, y_tr, batch_size=32, epochs=12, validation_split=0.1, verbose=2)
loss, acc = model.evaluate(X_te, y_te, verbose=0)
print(f"test loss {loss:.4f}  test accuracy {acc:.4f}")
