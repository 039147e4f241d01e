import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

keras.utils.set_random_seed(0)
X, y = load_breast_cancer(return_X_y=True)


def build():
    m = keras.Sequential([
        keras.layers.Input((X.shape[1],)),
        keras.layers.Dense(12, activation="tanh", kernel_regularizer=keras.regularizers.L1L2(1e-4, 1e-3)),
        keras.layers.Dense(2, activation="softmax"),
    ])
    m.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.9), loss="categorical_crossentropy", metrics=["accuracy"])
    return m


scores = []
for fold, (tr, te) in enumerate(StratifiedKFold(4, shuffle=True, random_state=1).split(X, y)):
    scaler = RobustScaler().fit(X[tr])
    m = build()
    h = m.fit(scaler.transform(X[tr]), keras.utils.to_categorical(y[tr]), epochs=10, batch_size=16, verbose=0)
    loss, acc = m.evaluate(scaler.transform(X[te]), keras.utils.to_categorical(y[te]), verbose=0)
    print(f"fold {fold}: train loss {h.history['loss'][0]:.3f} -> {h.history['loss'][-1]:.3f}, test acc {acc:.3f}")
    scores.append(acc)
print("cv accuracy %.3f +- %.3f" % (np.mean(scores), np.std(scores)))
