import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# --- card transactions, about 4 % of them chargebacks -----------------
X, y = make_classification(n_samples=12000, n_features=20, n_informative=8, n_redundant=4,
                           n_clusters_per_class=2, weights=[0.96], class_sep=0.9,
                           flip_y=0.005, random_state=11)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=11)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train).astype("float32")
X_test = scaler.transform(X_test).astype("float32")

# --- the classes are very unbalanced, so weight them -----------------
total = len(y_train)
counts = np.bincount(y_train)
class_weight = {c: 2.0 * n / total for c, n in enumerate(counts)}
print("class weights", class_weight)

keras.utils.set_random_seed(11)
model = keras.Sequential([
    keras.Input((X_train.shape[1],)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall"), keras.metrics.AUC(name="auc")])
model.fit(X_train, y_train, batch_size=128, epochs=12, class_weight=class_weight,
          validation_split=0.15, verbose=2)

p = model.predict(X_test, verbose=0).ravel()
hat = (p > 0.5).astype(int)
print(confusion_matrix(y_test, hat))
print("test F1 %.3f" % f1_score(y_test, hat))
print("test balanced accuracy %.3f" % balanced_accuracy_score(y_test, hat))
