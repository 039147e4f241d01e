import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, classification_report
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(31)

X, y = make_classification(n_samples=8000, n_features=20, n_informative=6, n_redundant=4, weights=[0.9, 0.1],
                           flip_y=0.02, class_sep=0.9, random_state=31)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=31)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

# the classes are imbalanced, so weight them
counts = np.bincount(y_train)
total = counts.sum()
class_weight = {c: 2.0 * counts[c] / total for c in range(len(counts))}
print("class counts", counts)

model = keras.Sequential([
    keras.layers.Input(shape=(20,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, validation_split=0.15, epochs=15, batch_size=64, class_weight=class_weight, verbose=2)

pred = (model.predict(X_test, verbose=0) > 0.5).astype(int).ravel()
print(classification_report(y_test, pred, digits=3, zero_division=0))
print("balanced accuracy: %.4f" % balanced_accuracy_score(y_test, pred))
