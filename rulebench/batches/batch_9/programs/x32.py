import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(10)
X, y = load_diabetes(return_X_y=True)
y = y.reshape(-1, 1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=10)
xs = StandardScaler().fit(X_train)
ys = StandardScaler().fit(y_train)
X_train, X_test = xs.transform(X_train), xs.transform(X_test)
y_train, y_test = ys.transform(y_train), ys.transform(y_test)

def build():
    m = keras.Sequential()
    m.add(layers.Input((10,)))
    m.add(layers.Dense(64, activation="relu"))
    m.add(layers.Dense(32, activation="relu"))
    m.add(layers.Dense(1))
    m.compile(loss="mse", optimizer=keras.optimizers.SGD(learning_rate=0.8), metrics=["mae"])
    return m

model = build()
model.fit(X_train, y_train, epochs=20, batch_size=16, validation_data=(X_test, y_test), verbose=2)
print("test mse, mae:", model.evaluate(X_test, y_test, verbose=0))
