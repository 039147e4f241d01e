import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
import torch
torch.set_num_threads(1)

keras.utils.set_random_seed(9)

# machine states: 0 = running, 1 = worn, 2 = about to fail
X, y = make_classification(n_samples=6000, n_features=16, n_informative=8, n_redundant=2, n_classes=3,
                           n_clusters_per_class=2, weights=[0.86, 0.10, 0.04], class_sep=0.9,
                           flip_y=0.01, random_state=9)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=9)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr).astype("float32"), sc.transform(X_te).astype("float32")

counts = np.bincount(y_tr)
print("class counts:", counts)
# the states that matter are rare, so weigh the classes
class_weight = {c: len(counts) * n / counts.sum() for c, n in enumerate(counts)}
print("class weights:", class_weight)

model = keras.Sequential([
    layers.Input((16,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(5e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True)
h = model.fit(X_tr, y_tr, validation_split=0.15, epochs=20, batch_size=64,
              class_weight=class_weight, callbacks=[stop], verbose=0)
for e, (a, b) in enumerate(zip(h.history["loss"], h.history["val_accuracy"])):
    if e % 4 == 0:
        print(f"epoch {e:2d} loss {a:.4f} val_acc {b:.4f}")
pred = model.predict(X_te, verbose=0).argmax(1)
print(confusion_matrix(y_te, pred))
print("balanced accuracy on test: %.4f" % balanced_accuracy_score(y_te, pred))
