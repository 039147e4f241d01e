import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# ------------------------------------------------------------------
# Digits with offline augmentation. I only keep 400 images for training
# because the point of the notebook is what augmentation brings.
# ------------------------------------------------------------------
SEED = 11
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).reshape(-1, 8, 8, 1).astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, y, train_size=400, stratify=y, random_state=1)


def shift(img, dx, dy):
    return np.roll(np.roll(img, dx, axis=1), dy, axis=2)


def noisy(img):
    return np.clip(img + rng.normal(0, 0.08, img.shape), 0, 1).astype("float32")


versions = [X_tr, shift(X_tr, 1, 0), shift(X_tr, 0, 1), noisy(X_tr)]
X_aug = np.concatenate(versions, axis=0)
y_aug = np.repeat(y_tr, len(versions))          # every image appears once per version
print("augmented set:", X_aug.shape, y_aug.shape)

order = rng.permutation(len(X_aug))
X_aug, y_aug = X_aug[order], y_aug[order]

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(24, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(48, 3, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dropout(0.2),
    layers.Dense(64, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_aug, y_aug, epochs=12, batch_size=32, verbose=2)

loss, acc = model.evaluate(X_te, y_te, verbose=0)
print(f"test loss {loss:.3f}   test accuracy {acc:.3f}")
