import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import balanced_accuracy_score, recall_score

keras.utils.set_random_seed(3)

# churn-like table, about 6 % positives
X, y = make_classification(n_samples=9000, n_features=20, n_informative=8, n_redundant=4,
                           weights=[0.94], class_sep=0.9, flip_y=0.01, random_state=3)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=3)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr).astype("float32"), sc.transform(X_te).astype("float32")

# the two classes should weigh the same in the loss
counts = np.bincount(y_tr)
total = counts.sum()
class_weight = {c: 2.0 * counts[c] / total for c in range(2)}
print("class counts", counts, "class weights", class_weight)

model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall")])
model.fit(X_tr, y_tr, epochs=14, batch_size=128, validation_data=(X_te, y_te),
          class_weight=class_weight, verbose=2)

p = (model.predict(X_te, verbose=0)[:, 0] > 0.5).astype(int)
print("recall of churners   %.3f" % recall_score(y_te, p))
print("balanced accuracy    %.3f" % balanced_accuracy_score(y_te, p))
