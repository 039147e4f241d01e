import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.set_num_threads(1)
keras.utils.set_random_seed(4)

# fault diagnosis of pumps: normal / worn bearing / leak / cavitation
X, y = make_classification(
    n_samples=7000, n_features=20, n_informative=10, n_classes=4, n_clusters_per_class=1,
    weights=[0.88, 0.06, 0.04, 0.02], class_sep=1.1, flip_y=0.01, random_state=4,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=4)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# the classes are very imbalanced, so weigh them
counts = np.bincount(y_train)
class_weight = {c: float(len(counts) * n / len(y_train)) for c, n in enumerate(counts)}
print("counts", counts, "weights", class_weight)

model = keras.Sequential(
    [
        keras.Input((20,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(32, activation="relu"),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=9, batch_size=64, class_weight=class_weight,
          validation_data=(X_test, y_test), verbose=2)

pred = model.predict(X_test, verbose=0).argmax(1)
print("recall per class:", recall_score(y_test, pred, average=None).round(3))
print("balanced accuracy: %.4f" % balanced_accuracy_score(y_test, pred))
