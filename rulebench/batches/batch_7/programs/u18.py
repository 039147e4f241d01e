import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

keras.utils.set_random_seed(77)
X, y = make_classification(n_samples=4000, n_features=15, n_informative=8, n_classes=3, weights=[0.85, 0.1, 0.05],
                           class_sep=1.5, random_state=77)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, stratify=y, random_state=7)
sc = StandardScaler()
X_tr, X_te = sc.fit_transform(X_tr), sc.transform(X_te)
cw = dict(enumerate(compute_class_weight("balanced", classes=np.unique(y_tr), y=y_tr)))
print(cw)
model = keras.Sequential([
    keras.Input((15,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(32, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_tr, y_tr, epochs=15, batch_size=64, class_weight=cw, validation_data=(X_te, y_te), verbose=2)
p = model.predict(X_te, verbose=0).argmax(1)
print(confusion_matrix(y_te, p))
print("balanced accuracy", balanced_accuracy_score(y_te, p))
