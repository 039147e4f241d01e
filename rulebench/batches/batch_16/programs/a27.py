import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# Fraud detection, about 2 percent positive
keras.utils.set_random_seed(12)
X, y = make_classification(8000, n_features=20, n_informative=6, weights=[0.98], flip_y=0.002,
                           class_sep=1.4, random_state=12)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=12)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr), sc.transform(X_te)

neg, pos = np.bincount(y_tr)
print("positives", pos, "of", len(y_tr))
class_weight = {0: len(y_tr) / (2.0 * neg), 1: len(y_tr) / (2.0 * pos)}

model = keras.Sequential([
    layers.Input((20,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.AUC(name="auc"), keras.metrics.AUC(curve="PR", name="prc"),
                       keras.metrics.Recall(name="recall")])
model.fit(X_tr, y_tr, epochs=15, batch_size=256, class_weight=class_weight,
          validation_split=0.2, verbose=2)
p = model.predict(X_te, verbose=0)[:, 0]
print("ROC AUC", roc_auc_score(y_te, p), "average precision", average_precision_score(y_te, p))
print("prevalence", y_te.mean())
