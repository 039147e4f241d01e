import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split
from sklearn.metrics import log_loss, accuracy_score

keras.utils.set_random_seed(7)
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
sc = StandardScaler().fit(X_train)
X_train, X_test = sc.transform(X_train), sc.transform(X_test)

model = keras.Sequential()
model.add(layers.Input((30,)))
model.add(layers.Dense(16, activation="tanh"))
model.add(layers.Dense(8, activation="tanh"))
model.add(layers.Dense(1))
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.SGD(0.05), metrics=["accuracy"])
hist = model.fit(X_train, y_train, epochs=40, batch_size=32, verbose=2, validation_data=(X_test, y_test))

p = model.predict(X_test, verbose=0).ravel()
print("min/max of predicted probability", p.min(), p.max())
print("test acc", accuracy_score(y_test, p > 0.5))
print("test log loss", log_loss(y_test, np.clip(p, 1e-7, 1 - 1e-7)))
print("final train loss", hist.history["loss"][-1])
