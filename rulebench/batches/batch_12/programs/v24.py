import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import confusion_matrix, balanced_accuracy_score

# fraud detection, 8% positives
keras.utils.set_random_seed(0)
X, y = make_classification(5000, 16, n_informative=6, weights=[0.92], class_sep=0.9, flip_y=0.02, random_state=4)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
ss = StandardScaler()
Xtr = ss.fit_transform(Xtr)
Xte = ss.transform(Xte)

neg, pos = np.bincount(ytr)
total = neg + pos
class_weight = {0: 2 * neg / total, 1: 2 * pos / total}
print("class weight", class_weight)

model = keras.Sequential([
    layers.Input((16,)),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy",
              metrics=[keras.metrics.Recall(name="recall"), keras.metrics.AUC(curve="PR", name="prc")])
model.fit(Xtr, ytr, epochs=15, batch_size=64, class_weight=class_weight, validation_data=(Xte, yte), verbose=2)
pred = (model.predict(Xte, verbose=0)[:, 0] > 0.5).astype(int)
print(confusion_matrix(yte, pred))
print("balanced accuracy", balanced_accuracy_score(yte, pred))
