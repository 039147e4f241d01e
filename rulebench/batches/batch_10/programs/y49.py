import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

keras.utils.set_random_seed(103)
X, Y = make_multilabel_classification(n_samples=2500, n_features=30, n_classes=6, n_labels=2, random_state=103)
X = (np.sqrt(X) - np.sqrt(X).mean(0)) / np.sqrt(X).std(0)
X_train, Y_train, X_test, Y_test = X[:2000], Y[:2000], X[2000:], Y[2000:]

inp = keras.Input((30,))
h = layers.Dense(64, activation="relu")(inp)
h = layers.Dropout(0.3)(h)
out = layers.Dense(6, activation="sigmoid")(h)
model = keras.Model(inp, out)
model.compile("adam", loss="binary_crossentropy", metrics=[keras.metrics.BinaryAccuracy(name="bacc")])
model.fit(X_train, Y_train, epochs=20, batch_size=50, validation_data=(X_test, Y_test), verbose=2)
P = model.predict(X_test, verbose=0) > 0.5
print("micro F1", f1_score(Y_test, P, average="micro"), "macro F1", f1_score(Y_test, P, average="macro"))
