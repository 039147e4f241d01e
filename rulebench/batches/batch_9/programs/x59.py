import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(110)
X, y = load_breast_cancer(return_X_y=True)

def build():
    m = keras.Sequential([
        layers.Input((30,)),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.6),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.6),
        layers.Dense(1, activation="sigmoid"),
    ])
    m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return m

scores = []
for k, (a, b) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
    sc = StandardScaler().fit(X[a])
    model = build()
    model.fit(sc.transform(X[a]), y[a], epochs=12, batch_size=32, verbose=0)
    scores.append(model.evaluate(sc.transform(X[b]), y[b], verbose=0)[1])
    print("fold", k, "accuracy", scores[-1])
print("mean %.3f +- %.3f" % (np.mean(scores), np.std(scores)))
