import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(114)
X, y = load_iris(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, stratify=y, random_state=114)
m, s = Xa.mean(0), Xa.std(0)
Xa, Xb = (Xa - m) / s, (Xb - m) / s
model = keras.Sequential([layers.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(3, activation="softmax")])
model.compile(keras.optimizers.SGD(0.02), "categorical_crossentropy", metrics=["accuracy"])
model.fit(Xa, keras.utils.to_categorical(ya), batch_size=2, epochs=30, verbose=2)
print("test", model.evaluate(Xb, keras.utils.to_categorical(yb), verbose=0))
