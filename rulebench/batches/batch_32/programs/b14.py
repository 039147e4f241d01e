import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

# Churn data: ~6% of the customers leave
keras.utils.set_random_seed(7)
X, y = make_classification(n_samples=9000, n_features=20, n_informative=8, n_redundant=4,
                           n_clusters_per_class=3, weights=[0.94], class_sep=0.9,
                           flip_y=0.01, random_state=11)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr), sc.transform(X_te)

# handle the imbalance with class weights
classes, counts = np.unique(y_tr, return_counts=True)
class_weight = {int(c): len(classes) * n / len(y_tr) for c, n in zip(classes, counts)}
print("class_weight", class_weight)

model = keras.Sequential([
    keras.layers.Input((X_tr.shape[1],)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall")])
model.fit(X_tr, y_tr, epochs=15, batch_size=128, class_weight=class_weight,
          validation_split=0.1, verbose=2)

p = model.predict(X_te, verbose=0).ravel()
pred = (p > 0.5).astype(int)
print(confusion_matrix(y_te, pred))
print("balanced accuracy on test: %.4f" % balanced_accuracy_score(y_te, pred))
