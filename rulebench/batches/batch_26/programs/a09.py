import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, regularizers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

# Homework 4, part b): write the primal SVM as a one-layer network and compare with liblinear.
seed = 8
keras.utils.set_random_seed(seed)
X, y = load_breast_cancer(return_X_y=True)
y = np.where(y == 1, 1.0, -1.0).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
sc = StandardScaler().fit(Xtr)
Xtr, Xte = sc.transform(Xtr).astype("float32"), sc.transform(Xte).astype("float32")

C = 1.0
lam = 1.0 / (C * len(Xtr))

svm = keras.Sequential([
    keras.Input((X.shape[1],)),
    layers.Dense(1, kernel_initializer="zeros", kernel_regularizer=regularizers.L2(0.5 * lam)),
])


def sign_accuracy(y_true, y_pred):
    return keras.ops.mean(keras.ops.cast(y_true * y_pred > 0, "float32"))


svm.compile(optimizer=keras.optimizers.SGD(0.01), loss="hinge", metrics=[sign_accuracy])
log = svm.fit(Xtr, ytr[:, None], epochs=50, batch_size=16, verbose=0)
for k in (0, 1, 5, 20, 49):
    print(f"after {k + 1:2d} epochs: hinge {log.history['loss'][k]:.4f}, acc {log.history['sign_accuracy'][k]:.4f}")

ref = LinearSVC(C=C, loss="hinge", dual=True, max_iter=200000).fit(Xtr, ytr)
f = svm.predict(Xte, verbose=0).ravel()
print("support vectors on the training side:", int((svm.predict(Xtr, verbose=0).ravel() * ytr < 1).sum()))
print("liblinear test accuracy", round(ref.score(Xte, yte), 4))
print("keras     test accuracy", round(float(np.mean(np.sign(f) == yte)), 4))
