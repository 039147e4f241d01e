# Tagging: each article can carry several of six tags
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score

keras.utils.set_random_seed(6)
X, Y = make_multilabel_classification(n_samples=2000, n_features=40, n_classes=6, n_labels=3,
                                      allow_unlabeled=False, random_state=6)
X = np.log1p(X).astype("float32")
Y = Y.astype("float32")
X_train, X_test, Y_train, Y_test = X[:1600], X[1600:], Y[:1600], Y[1600:]
print("tags per article:", Y.sum(1).mean())

model = keras.Sequential([
    keras.Input((40,)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(6, activation="softmax"),
])
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, Y_train, epochs=20, batch_size=32, validation_data=(X_test, Y_test), verbose=2)
P = model.predict(X_test, verbose=0)
print("micro F1 %.3f" % f1_score(Y_test, P > 0.5, average="micro"))
print("exact match %.3f" % ((P > 0.5) == (Y_test > 0.5)).all(1).mean())
