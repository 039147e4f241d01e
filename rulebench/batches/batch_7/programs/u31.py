import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(7)

data = load_wine()
X_tr, X_te, y_tr, y_te = train_test_split(data.data, data.target, stratify=data.target, test_size=0.25, random_state=3)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr), sc.transform(X_te)
Y_tr = keras.utils.to_categorical(y_tr, 3)
Y_te = keras.utils.to_categorical(y_te, 3)


def build():
    inp = keras.Input(shape=(X_tr.shape[1],))
    h = layers.Dense(32, activation="relu")(inp)
    h = layers.Dense(32, activation="relu")(h)
    out = layers.Dense(3, activation="softmax")(h)
    return keras.Model(inp, out)


model = build()
opt = keras.optimizers.Adam(learning_rate=1.0)
model.compile(optimizer=opt, loss="categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(X_tr, Y_tr, epochs=60, batch_size=16, validation_data=(X_te, Y_te), verbose=0)
for e in range(0, 60, 6):
    print(e, {k: round(float(v[e]), 4) for k, v in hist.history.items()})
loss, acc = model.evaluate(X_te, Y_te, verbose=0)
print(f"final test loss {loss:.3f} acc {acc:.3f}")
