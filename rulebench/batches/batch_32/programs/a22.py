import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, classification_report
from sklearn.model_selection import train_test_split

# Churn data, 6 % churners: use class weights.
SEED = 22
keras.utils.set_random_seed(SEED)
X, y = make_classification(n_samples=8000, n_features=16, n_informative=8, weights=[0.94], class_sep=0.9,
                           flip_y=0.01, random_state=SEED)
X = X.astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)

counts = np.bincount(y_train)
print("class counts", counts)
class_weight = {c: counts[c] / counts.sum() * 2 for c in (0, 1)}
print("class weights", class_weight)

model = keras.Sequential([
    layers.Input((16,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall")])
model.fit(X_train, y_train, epochs=8, batch_size=64, class_weight=class_weight,
          validation_data=(X_test, y_test), verbose=2)

pred = (model.predict(X_test, verbose=0).ravel() > 0.5).astype(int)
print(classification_report(y_test, pred, digits=3, zero_division=0))
print("balanced accuracy: %.3f" % balanced_accuracy_score(y_test, pred))
