import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, recall_score, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 17
keras.utils.set_random_seed(SEED)

# 1. data: fraud-like, 4% positives
X, y = make_classification(n_samples=12000, n_features=20, n_informative=8, weights=[0.96, 0.04],
                           class_sep=1.0, flip_y=0.005, random_state=SEED)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)
X_train, X_val, y_train, y_val = train_test_split(X_train, y_train, test_size=0.2, stratify=y_train, random_state=SEED)
scaler = StandardScaler().fit(X_train)
X_train, X_val, X_test = map(scaler.transform, (X_train, X_val, X_test))

# 2. class weights to deal with the imbalance
counts = np.bincount(y_train)
print("class counts:", counts)
class_weight = {i: 2 * c / counts.sum() for i, c in enumerate(counts)}
print("class weights:", {k: round(float(v), 3) for k, v in class_weight.items()})

# 3. model
model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dropout(0.1),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.Recall(name="recall"), keras.metrics.AUC(name="auc")])

history = model.fit(X_train, y_train, batch_size=128, epochs=20, class_weight=class_weight,
                    validation_data=(X_val, y_val), verbose=0)
for e in range(0, 20, 4):
    print(f"epoch {e + 1:2d} " + " ".join(f"{k}={v[e]:.4f}" for k, v in history.history.items()))

# 4. evaluation
proba = model.predict(X_test, verbose=0).ravel()
pred = (proba > 0.5).astype(int)
print(confusion_matrix(y_test, pred))
print("test recall (fraud): %.4f" % recall_score(y_test, pred))
print("test balanced accuracy: %.4f" % balanced_accuracy_score(y_test, pred))
