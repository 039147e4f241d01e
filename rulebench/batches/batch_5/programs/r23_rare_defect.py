import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(5)
X, y = make_classification(n_samples=6000, n_features=16, n_informative=8, weights=[0.96, 0.04],
                           class_sep=1.4, flip_y=0.0, random_state=5)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, stratify=y, test_size=0.3, random_state=5)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, stratify=y_tr, test_size=0.2, random_state=5)
sc = StandardScaler().fit(X_tr)
X_tr, X_va, X_te = (sc.transform(a).astype("float32") for a in (X_tr, X_va, X_te))

n0, n1 = np.bincount(y_tr)
weights = {0: len(y_tr) / (2 * n0), 1: len(y_tr) / (2 * n1)}
print("defects in training data: %d of %d, class weights %s" % (n1, len(y_tr), weights))

model = keras.Sequential([
    keras.Input((16,)),
    layers.Dense(48), layers.BatchNormalization(), layers.Activation("relu"), layers.Dropout(0.3),
    layers.Dense(24), layers.BatchNormalization(), layers.Activation("relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), loss="binary_crossentropy",
              metrics=[keras.metrics.AUC(curve="PR", name="pr_auc"), keras.metrics.Recall(name="recall")])
model.fit(X_tr, y_tr, epochs=25, batch_size=128, class_weight=weights, validation_data=(X_va, y_va), verbose=2,
          callbacks=[keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.3, patience=4)])
p = model.predict(X_te, verbose=0)[:, 0]
print("test AP %.3f  balanced acc %.3f" % (average_precision_score(y_te, p), balanced_accuracy_score(y_te, p > 0.5)))
