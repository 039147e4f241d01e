"""Imbalanced binary classification (synthetic card transactions, 5 % fraud)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(13)
X, y = make_classification(n_samples=6000, n_features=20, n_informative=6, n_redundant=4,
                           weights=[0.95], class_sep=0.9, flip_y=0.01, random_state=13)
X_tr, X_va, y_tr, y_va = train_test_split(X, y, stratify=y, test_size=0.25, random_state=13)
sc = StandardScaler().fit(X_tr)
X_tr, X_va = sc.transform(X_tr), sc.transform(X_va)

neg, pos = np.bincount(y_tr)
total = neg + pos
print(f"{pos} fraudulent of {total}")
class_weight = {0: neg / total * 2.0, 1: pos / total * 2.0}     # keeps the mean loss comparable

model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(1, activation="sigmoid",
                       bias_initializer=keras.initializers.Constant(float(np.log(pos / neg)))),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.Precision(name="prec"), keras.metrics.Recall(name="rec"),
                       keras.metrics.AUC(name="auc", curve="PR")])
hist = model.fit(X_tr, y_tr, batch_size=256, epochs=30, class_weight=class_weight,
                 validation_data=(X_va, y_va), verbose=0)
for e in range(0, 30, 5):
    print(f"epoch {e + 1:2d} " + " ".join(f"{k}={hist.history[k][e]:.3f}" for k in ("loss", "val_loss", "val_prec", "val_rec", "val_auc")))
print(confusion_matrix(y_va, (model.predict(X_va, verbose=0)[:, 0] > 0.5).astype(int)))
