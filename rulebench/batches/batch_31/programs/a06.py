import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(0)

data = load_breast_cancer()
x_train, x_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.3, random_state=0, stratify=data.target)
scaler = StandardScaler().fit(x_train)
x_train = scaler.transform(x_train).astype("float32")
x_test = scaler.transform(x_test).astype("float32")

model = keras.Sequential([
    keras.layers.Input((30,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.summary()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, epochs=40, batch_size=16,
                    validation_data=(x_test, y_test), verbose=0)
for k, v in history.history.items():
    print(k, [round(a, 3) for a in v[::8]])

p = model.predict(x_test, verbose=0).ravel()
print("Test accuracy:", np.mean((p > 0.5) == y_test))
print("Test AUC:", roc_auc_score(y_test, p))
