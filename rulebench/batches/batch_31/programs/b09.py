import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, recall_score

# Fraud-like data: about 4% positives
keras.utils.set_random_seed(2024)
X, y = make_classification(n_samples=12000, n_features=24, n_informative=10, n_redundant=4,
                           n_clusters_per_class=3, weights=[0.96], class_sep=1.0, flip_y=0.005, random_state=2024)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

counts = np.bincount(y_train)
total = counts.sum()
# balance the classes
class_weight = {c: 2.0 * counts[c] / total for c in (0, 1)}
print("class weights", class_weight)

model = keras.Sequential([
    keras.Input((X.shape[1],)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall")])
model.fit(X_train, y_train, validation_split=0.1, epochs=15, batch_size=128,
          class_weight=class_weight, verbose=2)

pred = (model.predict(X_test, verbose=0)[:, 0] > 0.5).astype(int)
print(confusion_matrix(y_test, pred))
print("recall on fraud: %.3f   balanced accuracy: %.4f" %
      (recall_score(y_test, pred), balanced_accuracy_score(y_test, pred)))
