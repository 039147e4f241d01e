import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import roc_auc_score

keras.utils.set_random_seed(0)

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, stratify=data.target, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train)
X_test = scaler.transform(X_test)

model = keras.Sequential()
model.add(keras.Input(shape=(30,)))
model.add(keras.layers.Dense(32, activation="relu"))
model.add(keras.layers.Dropout(0.3))
model.add(keras.layers.Dense(16, activation="relu"))
model.add(keras.layers.Dense(1, activation="sigmoid"))

model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(X_train, y_train, epochs=40, batch_size=16,
                    validation_split=0.15, verbose=2)

p = model.predict(X_test, verbose=0).ravel()
print("Test accuracy: %.4f" % np.mean((p > 0.5) == y_test))
print("Test AUC: %.4f" % roc_auc_score(y_test, p))
