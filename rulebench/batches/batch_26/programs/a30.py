import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# Predictive maintenance: about one pump in eight fails within the month.
SEED = 50
keras.utils.set_random_seed(SEED)
X, y = make_classification(n_samples=6000, n_features=16, n_informative=8, weights=[0.88, 0.12],
                           class_sep=0.9, flip_y=0.01, random_state=SEED)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)
scaler = StandardScaler().fit(X_tr)
X_tr, X_te = scaler.transform(X_tr), scaler.transform(X_te)

counts = np.bincount(y_tr)
class_weight = {c: 2.0 * counts[c] / counts.sum() for c in (0, 1)}
print("counts", counts, "weights", {k: round(float(v), 3) for k, v in class_weight.items()})

inputs = keras.Input((16,))
x = keras.layers.Dense(32, activation="relu")(inputs)
x = keras.layers.Dropout(0.2)(x)
x = keras.layers.Dense(16, activation="relu")(x)
outputs = keras.layers.Dense(1, activation="sigmoid")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall")])
h = model.fit(X_tr, y_tr, epochs=16, batch_size=64, validation_split=0.1,
              class_weight=class_weight, verbose=0)
for e in range(0, 16, 4):
    print(f"epoch {e:2d} loss {h.history['loss'][e]:.4f} val_acc {h.history['val_accuracy'][e]:.4f} "
          f"val_recall {h.history['val_recall'][e]:.4f}")

pred = (model.predict(X_te, verbose=0)[:, 0] > 0.5).astype(int)
print(confusion_matrix(y_te, pred))
print("recall of the failures:", round(recall_score(y_te, pred), 4))
print("balanced accuracy     :", round(balanced_accuracy_score(y_te, pred), 4))
