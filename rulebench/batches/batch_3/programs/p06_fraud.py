# Fraud detection notebook, imbalanced classes (around 8% positive)
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import classification_report, f1_score, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 2024
keras.utils.set_random_seed(SEED)

X, y = make_classification(n_samples=6000, n_features=20, n_informative=8, n_redundant=4,
                           n_clusters_per_class=2, weights=[0.92], class_sep=0.9,
                           flip_y=0.01, random_state=SEED)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y,
                                                    random_state=SEED)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train).astype("float32")
X_test = scaler.transform(X_test).astype("float32")

counts = np.bincount(y_train)
print("class counts:", counts)
class_weight = {c: 2 * counts[c] / counts.sum() for c in range(2)}
print("class weights:", class_weight)

model = keras.Sequential([
    layers.Input((20,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall")])
model.fit(X_train, y_train, batch_size=64, epochs=12, class_weight=class_weight,
          validation_data=(X_test, y_test), verbose=2)

y_pred = (model.predict(X_test, verbose=0).ravel() > 0.5).astype(int)
print(classification_report(y_test, y_pred, digits=3, zero_division=0))
print("F1 (fraud): %.3f" % f1_score(y_test, y_pred))
print("balanced accuracy: %.3f" % balanced_accuracy_score(y_test, y_pred))
