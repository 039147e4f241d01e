"""Imbalanced classification, follows the tensorflow.org tutorial (initial bias + class weights)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 0
BATCH_SIZE = 1024
keras.utils.set_random_seed(SEED)

X, y = make_classification(n_samples=20000, n_features=16, n_informative=9, n_redundant=3, n_clusters_per_class=3,
                           weights=[0.98], class_sep=1.4, flip_y=0.0, random_state=SEED)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=SEED)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.2, stratify=y_train, random_state=SEED)
scaler = StandardScaler().fit(X_train)
X_train, X_val, X_test = (np.clip(scaler.transform(a), -5, 5) for a in (X_train, X_val, X_test))

neg, pos = np.bincount(y_train)
total = neg + pos
print("positives: {} of {} ({:.2f}%)".format(pos, total, 100 * pos / total))
initial_bias = np.log(pos / neg)
class_weight = {0: total / (2.0 * neg), 1: total / (2.0 * pos)}

model = keras.Sequential([
    keras.layers.Input((X_train.shape[-1],)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dropout(0.3),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid", bias_initializer=keras.initializers.Constant(initial_bias)),
])
model.compile(optimizer=keras.optimizers.Adam(4e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.AUC(name="prc", curve="PR"), keras.metrics.Recall(name="recall")])
early = keras.callbacks.EarlyStopping(monitor="val_prc", mode="max", patience=15, restore_best_weights=True)
model.fit(X_train, y_train, batch_size=BATCH_SIZE, epochs=60, validation_data=(X_val, y_val),
          class_weight=class_weight, callbacks=[early], verbose=2)

p = model.predict(X_test, verbose=0)[:, 0]
print("average precision %.3f  roc auc %.3f" % (average_precision_score(y_test, p), roc_auc_score(y_test, p)))
print(confusion_matrix(y_test, p > 0.5))
