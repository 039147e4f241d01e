import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import classification_report, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(7)

# churn in three grades: stays / hesitates / leaves
X, y = make_classification(n_samples=5000, n_features=16, n_informative=9, n_redundant=2, n_classes=3,
                           n_clusters_per_class=2, weights=[0.80, 0.14, 0.06], class_sep=1.0, flip_y=0.01, random_state=7)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=7)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train).astype("float32"), scaler.transform(X_test).astype("float32")

counts = np.bincount(y_train)
print("class counts", counts)
# imbalanced -> class weights, mean weight about 1
class_weight = {c: len(counts) * n / counts.sum() for c, n in enumerate(counts)}
print("class weights", class_weight)

model = keras.Sequential([
    keras.Input((X_train.shape[1],)),
    layers.Dense(48, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(24, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=15, batch_size=64,
          class_weight=class_weight, verbose=2)

pred = model.predict(X_test, verbose=0).argmax(1)
print(classification_report(y_test, pred, zero_division=0))
print("balanced accuracy", round(balanced_accuracy_score(y_test, pred), 4))
