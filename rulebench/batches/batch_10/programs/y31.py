import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification

keras.utils.set_random_seed(4)
X, y = make_classification(n_samples=2400, n_features=20, n_informative=10, n_classes=4,
                           class_sep=1.6, random_state=4)
X = (X - X.mean(axis=0)) / X.std(axis=0)

# shuffle before splitting
X = X[np.random.permutation(len(X))]
y = y[np.random.permutation(len(y))]
n_train = 1920
X_train, X_test = X[:n_train], X[n_train:]
y_train, y_test = y[:n_train], y[n_train:]

model = keras.Sequential([
    keras.Input((20,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(4, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(X_train, y_train, epochs=20, batch_size=32, validation_data=(X_test, y_test), verbose=2)
print("final val acc: %.3f" % hist.history["val_accuracy"][-1])
