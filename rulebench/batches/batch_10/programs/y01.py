import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.metrics import recall_score, balanced_accuracy_score, confusion_matrix

# fraud detection, about 6% positives
keras.utils.set_random_seed(8)
X, y = make_classification(n_samples=5000, n_features=16, n_informative=8, weights=[0.94],
                           flip_y=0.01, class_sep=0.9, random_state=8)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=8)
neg, pos = np.bincount(y_train)
print("negatives", neg, "positives", pos)
total = neg + pos
class_weight = {0: total / (2.0 * pos), 1: total / (2.0 * neg)}

model = keras.Sequential([
    keras.Input((16,)),
    layers.BatchNormalization(),
    layers.Dense(32, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy",
              metrics=["accuracy", keras.metrics.AUC(name="auc")])
model.fit(X_train, y_train, epochs=12, batch_size=64, class_weight=class_weight,
          validation_data=(X_test, y_test), verbose=2)
p = (model.predict(X_test, verbose=0)[:, 0] > 0.5).astype(int)
print("recall", recall_score(y_test, p), "balanced acc", balanced_accuracy_score(y_test, p))
print(confusion_matrix(y_test, p))
