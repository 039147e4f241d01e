import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score

# autoencoder anomaly detection, trained on normal data only
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
A = rng.normal(size=(3, 20))
normal = np.tanh(rng.normal(size=(3000, 3)) @ A) + 0.05 * rng.normal(size=(3000, 20))
anom = normal[2800:].copy()
for row in anom:
    j = rng.choice(20, 4, replace=False)
    row[j] = rng.permutation(row[j]) + rng.normal(0, 0.5, 4)
mu, sd = normal[:2400].mean(0), normal[:2400].std(0)
f = lambda a: ((a - mu) / sd).astype("float32")
train, val, test_n, test_a = f(normal[:2400]), f(normal[2400:2600]), f(normal[2600:2800]), f(anom)

ae = keras.Sequential([
    layers.Input((20,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(3),
    layers.Dense(32, activation="relu"),
    layers.Dense(20),
])
ae.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
ae.fit(train, train, epochs=20, batch_size=64, validation_data=(val, val), verbose=2)
score = lambda a: ((ae.predict(a, verbose=0) - a) ** 2).mean(1)
s = np.r_[score(test_n), score(test_a)]
print("AUC", roc_auc_score(np.r_[np.zeros(200), np.ones(200)], s))
