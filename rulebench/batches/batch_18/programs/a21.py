import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import classification_report, recall_score, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(21)

# fraud-like data, about 6 % positives
X, y = make_classification(n_samples=5000, n_features=20, n_informative=6, n_clusters_per_class=2,
                           weights=[0.94], class_sep=1.0, flip_y=0.01, random_state=21)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=21)
scaler = StandardScaler().fit(X_tr)
X_tr, X_te = scaler.transform(X_tr).astype("float32"), scaler.transform(X_te).astype("float32")

neg, pos = np.bincount(y_tr)
total = neg + pos
class_weight = {0: total / (2.0 * pos), 1: total / (2.0 * neg)}
print("negatives", neg, "positives", pos)

model = keras.Sequential([
    keras.Input((20,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.Recall(name="recall"), keras.metrics.AUC(name="auc")])
model.fit(X_tr, y_tr, epochs=10, batch_size=64, class_weight=class_weight,
          validation_data=(X_te, y_te), verbose=2)

pred = (model.predict(X_te, verbose=0)[:, 0] > 0.5).astype(int)
print(classification_report(y_te, pred, digits=3, zero_division=0))
print("recall %.3f  balanced accuracy %.3f" % (recall_score(y_te, pred), balanced_accuracy_score(y_te, pred)))
