import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np, keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

# breast cancer homework, small network
np.random.seed(0)
keras.utils.set_random_seed(0)
d = load_breast_cancer()
Xtr, Xte, ytr, yte = train_test_split(d.data, d.target, test_size=0.25, random_state=0)
mu, sd = Xtr.mean(0), Xtr.std(0)
Xtr, Xte = (Xtr - mu) / sd, (Xte - mu) / sd

inp = keras.Input(shape=(30,))
x = layers.Dense(64, activation="relu")(inp)
x = layers.Dropout(0.3)(x)
x = layers.Dense(32, activation="relu")(x)
out = layers.Dense(1, activation="softmax")(x)
net = keras.Model(inp, out)
net.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
net.fit(Xtr, ytr, epochs=25, batch_size=32, validation_split=0.15, verbose=2)

print(net.evaluate(Xte, yte, verbose=0))
