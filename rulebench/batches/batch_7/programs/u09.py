# Fraud detection on a synthetic card data set (about 4% fraud)
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import classification_report, recall_score

keras.utils.set_random_seed(11)

X, y = make_classification(n_samples=6000, n_features=20, n_informative=6, n_redundant=4, weights=[0.96, 0.04],
                           class_sep=1.0, flip_y=0.01, random_state=11)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=2)
m, s = X_tr.mean(0), X_tr.std(0)
X_tr, X_te = (X_tr - m) / s, (X_te - m) / s

counts = np.bincount(y_tr)
total = counts.sum()
weights = {c: counts[c] / total for c in (0, 1)}
print("class weights:", weights)

model = keras.Sequential([
    keras.Input((20,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.Recall(name="recall")])
model.fit(X_tr, y_tr, epochs=15, batch_size=64, class_weight=weights,
          validation_data=(X_te, y_te), verbose=2)

p = model.predict(X_te, verbose=0).ravel()
print(classification_report(y_te, p > 0.5, digits=3, zero_division=0))
print("recall on fraud:", recall_score(y_te, p > 0.5))
