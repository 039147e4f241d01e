import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, recall_score, precision_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(77)
X, y = make_classification(n_samples=9000, n_features=16, n_informative=8, weights=[0.96], flip_y=0.0,
                           class_sep=1.3, random_state=77)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=77)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=77)
scaler = StandardScaler().fit(X_tr)
X_tr, X_va, X_te = (scaler.transform(a).astype("float32") for a in (X_tr, X_va, X_te))

pos, neg = y_tr.sum(), len(y_tr) - y_tr.sum()
print("positives", pos, "negatives", neg)
weight = {0: len(y_tr) / (2.0 * neg), 1: len(y_tr) / (2.0 * pos)}

model = keras.Sequential([
    keras.Input((16,)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dropout(0.3),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy",
              metrics=[keras.metrics.AUC(curve="PR", name="prc"), keras.metrics.Recall(name="recall")])
early = keras.callbacks.EarlyStopping(monitor="val_prc", mode="max", patience=5, restore_best_weights=True)
model.fit(X_tr, y_tr, validation_data=(X_va, y_va), batch_size=256, epochs=40, class_weight=weight,
          callbacks=[early], verbose=2)
p = model.predict(X_te, verbose=0).ravel()
print("average precision %.3f recall %.3f precision %.3f" % (
    average_precision_score(y_te, p), recall_score(y_te, p > 0.5), precision_score(y_te, p > 0.5)))
