# Churn-style imbalanced tabular problem, Keras on TF
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

keras.utils.set_random_seed(3)
X, y = make_classification(n_samples=6000, n_features=20, n_informative=8, n_redundant=4,
                           weights=[0.9, 0.1], class_sep=0.9, flip_y=0.02, random_state=3)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=3)
X_tr, X_val, y_tr, y_val = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=3)

sc = StandardScaler().fit(X_tr)
X_tr, X_val, X_te = map(sc.transform, (X_tr, X_val, X_te))

# the churners are rare, so weight the classes
counts = np.bincount(y_tr)
class_weight = {c: counts[c] / counts.sum() * len(counts) for c in range(len(counts))}
print("class weights:", class_weight)

model = keras.Sequential([
    layers.Input((X.shape[1],)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
              metrics=["accuracy"])
model.fit(X_tr, y_tr, validation_data=(X_val, y_val), epochs=10, batch_size=64,
          class_weight=class_weight, verbose=2)

p = model.predict(X_te, verbose=0).ravel()
pred = (p > 0.5).astype(int)
print(confusion_matrix(y_te, pred))
print("test balanced accuracy: %.4f" % balanced_accuracy_score(y_te, pred))
