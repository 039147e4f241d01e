import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import balanced_accuracy_score, recall_score

# Fraud-like table, three classes, very imbalanced
keras.utils.set_random_seed(42)
X, y = make_classification(n_samples=6000, n_features=16, n_informative=8, n_classes=3,
                           weights=[0.85, 0.11, 0.04], class_sep=0.9, flip_y=0.02, random_state=8)
Xtr, Xte, ytr, yte = train_test_split(X.astype("float32"), y, stratify=y, test_size=.3, random_state=0)
mu, sd = Xtr.mean(0), Xtr.std(0)
Xtr, Xte = (Xtr - mu) / sd, (Xte - mu) / sd

classes, counts = np.unique(ytr, return_counts=True)
# balance the classes
class_weight = {int(c): float(len(classes) * n / len(ytr)) for c, n in zip(classes, counts)}
print("class weights", class_weight)

model = keras.Sequential([
    keras.Input((16,)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", weighted_metrics=[], metrics=["accuracy"])
model.fit(Xtr, ytr, batch_size=64, epochs=20, class_weight=class_weight, verbose=2)
pred = model.predict(Xte, verbose=0).argmax(1)
print("recall per class", recall_score(yte, pred, average=None).round(3))
print("balanced test accuracy: %.4f" % balanced_accuracy_score(yte, pred))
