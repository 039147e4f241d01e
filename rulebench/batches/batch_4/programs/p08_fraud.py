# Credit card fraud, about 3% positives
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 11
keras.utils.set_random_seed(SEED)

X, y = make_classification(n_samples=8000, n_features=20, n_informative=8, n_redundant=4,
                           n_clusters_per_class=2, weights=[0.97], class_sep=1.2,
                           flip_y=0.002, random_state=SEED)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=SEED)
scaler = StandardScaler().fit(X_tr)
X_tr, X_va, X_te = [np.clip(scaler.transform(a), -5, 5) for a in (X_tr, X_va, X_te)]

neg, pos = np.bincount(y_tr)
print("train: %d normal, %d fraud" % (neg, pos))
total = neg + pos
class_weight = {0: total / (2.0 * neg), 1: total / (2.0 * pos)}
print("class weights", class_weight)


def make_model():
    model = keras.Sequential([
        keras.layers.Input((X_tr.shape[1],)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid",
                           bias_initializer=keras.initializers.Constant(np.log(pos / neg))),
    ])
    model.compile(optimizer=keras.optimizers.Adam(3e-3),
                  loss="binary_crossentropy",
                  metrics=["accuracy", keras.metrics.AUC(name="prc", curve="PR")])
    return model


model = make_model()
# big batches so that every batch holds a few frauds
stop = keras.callbacks.EarlyStopping(monitor="val_prc", mode="max", patience=8,
                                     restore_best_weights=True)
model.fit(X_tr, y_tr, batch_size=256, epochs=30, validation_data=(X_va, y_va),
          class_weight=class_weight, callbacks=[stop], verbose=2)

p = model.predict(X_te, batch_size=1024, verbose=0)[:, 0]
print("ROC AUC %.3f  average precision %.3f  recall at 0.5 %.3f" % (
    roc_auc_score(y_te, p), average_precision_score(y_te, p), recall_score(y_te, p > 0.5)))
