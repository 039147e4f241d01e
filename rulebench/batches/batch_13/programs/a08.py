import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# wine recognition homework: which of the three cultivars is it?
keras.utils.set_random_seed(1)
data = load_wine()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.3, stratify=data.target, random_state=1)
s = StandardScaler().fit(X_train)
X_train, X_test = s.transform(X_train), s.transform(X_test)
print(np.bincount(y_train))

model = keras.models.Sequential()
model.add(keras.Input(shape=(13,)))
model.add(keras.layers.Dense(24, activation="relu"))
model.add(keras.layers.Dense(12, activation="relu"))
model.add(keras.layers.Dense(1, activation="sigmoid"))

model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=60, batch_size=8, validation_split=0.1, verbose=2)

loss, acc = model.evaluate(X_test, y_test, verbose=0)
print("test loss %.4f  test accuracy %.4f" % (loss, acc))
