import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, roc_auc_score

# multi label tagging of bag of words documents, several tags can be true at once
keras.utils.set_random_seed(30)
X, Y = make_multilabel_classification(n_samples=3000, n_features=60, n_classes=6, n_labels=2,
                                      length=60, allow_unlabeled=True, random_state=3)
X = np.sqrt(X / X.sum(1, keepdims=True)).astype("float32")
Y = Y.astype("float32")
X_tr, Y_tr, X_va, Y_va, X_te, Y_te = X[:2000], Y[:2000], X[2000:2500], Y[2000:2500], X[2500:], Y[2500:]

rate = Y_tr.mean(0)
model = keras.Sequential([
    keras.Input((60,)),
    layers.BatchNormalization(scale=False),
    layers.Dense(64, activation="relu"),
    layers.Dropout(0.3),
    layers.Dense(6, activation="sigmoid",
                 bias_initializer=keras.initializers.Constant(float(np.log(rate.mean() / (1 - rate.mean()))))),
])
model.compile(optimizer=keras.optimizers.Nadam(1e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.BinaryAccuracy(name="acc"), keras.metrics.AUC(multi_label=True, num_labels=6, name="auc")])
model.fit(X_tr, Y_tr, epochs=15, batch_size=64, validation_data=(X_va, Y_va), verbose=2,
          callbacks=[keras.callbacks.EarlyStopping("val_auc", mode="max", patience=6, restore_best_weights=True)])

pv, pt = model.predict(X_va, verbose=0), model.predict(X_te, verbose=0)
grid = np.linspace(0.1, 0.9, 33)
thr = np.array([grid[np.argmax([f1_score(Y_va[:, k], pv[:, k] > g) for g in grid])] for k in range(6)])
print("tag rates", rate.round(2), "thresholds", thr.round(2))
print("macro F1 %.3f, macro AUC %.3f" % (f1_score(Y_te, pt > thr, average="macro"), roc_auc_score(Y_te, pt, average="macro")))
