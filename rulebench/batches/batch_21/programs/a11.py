import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(6)

X, y = load_digits(return_X_y=True)
# every image becomes a distribution of ink over the 64 cells
X = (X / X.sum(axis=1, keepdims=True)).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=6, stratify=y)
print("largest feature", X_train.max().round(4), "mean squared norm", (X_train ** 2).sum(1).mean().round(4))

# Softmax regression
model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(10, activation="softmax", use_bias=False, kernel_initializer="zeros"),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=30.0),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
history = model.fit(
    X_train, y_train,
    validation_data=(X_test, y_test),
    epochs=40,
    batch_size=128,
    verbose=0,
)
for epoch in range(0, 40, 5):
    print(epoch + 1, " ".join(f"{k} {v[epoch]:.4f}" for k, v in history.history.items()))

loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"test loss {loss:.4f} accuracy {acc:.4f}")
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (y_test, model.predict(X_test, verbose=0).argmax(1)), 1)
print(confusion)
weights = model.layers[-1].get_weights()[0]
print("weight norm per class", np.linalg.norm(weights, axis=0).round(2))
