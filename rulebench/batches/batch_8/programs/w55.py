import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import f1_score, recall_score

# churn, 8 % leave
rng = np.random.default_rng(100)
n = 6000
X = rng.normal(size=(n, 10)).astype("float32")
s = X[:, 0] - 1.2 * X[:, 1] + X[:, 2] ** 2
y = (s > np.quantile(s, 0.92)).astype("float32")
Xtr, ytr, Xte, yte = X[:4800], y[:4800], X[4800:], y[4800:]
neg, pos = (ytr == 0).sum(), (ytr == 1).sum()
weights = {0: len(ytr) / (2 * neg), 1: len(ytr) / (2 * pos)}
keras.utils.set_random_seed(100)
model = keras.Sequential([
    keras.Input((10,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy",
              metrics=[keras.metrics.AUC(curve="PR", name="prc"), keras.metrics.Recall(name="recall")])
model.fit(Xtr, ytr, class_weight=weights, epochs=15, batch_size=64, validation_data=(Xte, yte), verbose=2)
pred = model.predict(Xte, verbose=0)[:, 0] > 0.5
print("f1", f1_score(yte, pred), "recall", recall_score(yte, pred))
