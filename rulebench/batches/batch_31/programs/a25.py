# Card fraud, 1 in 100. Focal loss with alpha 0.25, gamma 2 and a prior bias as in the RetinaNet paper.
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
import torch
from keras import layers
from sklearn.metrics import average_precision_score, roc_auc_score

torch.set_num_threads(1)
SEED = 10
keras.utils.set_random_seed(SEED)
r = np.random.default_rng(SEED)

n = 30000
amount = r.lognormal(3, 1, n)
hour = r.integers(0, 24, n)
foreign = r.random(n) < 0.1
velocity = r.poisson(1.5, n)
age = r.exponential(300, n)
risk = (0.9 * np.log(amount) + 2.0 * foreign + 0.7 * velocity - 0.006 * age
        + 2.2 * foreign * (hour < 6) + 1.2 * ((hour < 5) & (amount > 40)))
thr = np.quantile(risk + r.logistic(0, 0.4, n), 0.99)
fraud = (risk + r.logistic(0, 0.4, n) > thr).astype("float32")
X = np.c_[np.log(amount), np.sin(hour / 12 * np.pi), np.cos(hour / 12 * np.pi), foreign, velocity, np.log1p(age)]
X = ((X - X[:24000].mean(0)) / X[:24000].std(0)).astype("float32")
x_tr, y_tr, x_te, y_te = X[:24000], fraud[:24000], X[24000:], fraud[24000:]
print("fraud share", y_tr.mean())

pi = 0.01
net = keras.Sequential([
    layers.Input((X.shape[1],)),
    layers.Dense(48, activation="relu"),
    layers.Dense(48, activation="relu"),
    layers.Dense(1, activation="sigmoid", bias_initializer=keras.initializers.Constant(-np.log((1 - pi) / pi))),
])
net.compile(optimizer=keras.optimizers.Adam(2e-3),
            loss=keras.losses.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.25, gamma=2.0),
            metrics=["accuracy", keras.metrics.AUC(curve="PR", name="pr")])
h = net.fit(x_tr, y_tr, batch_size=512, epochs=15, verbose=0, validation_data=(x_te, y_te))
for e in range(0, 15, 3):
    print(e, {k: float("%.3g" % v[e]) for k, v in h.history.items()})
p = net.predict(x_te, batch_size=2048, verbose=0)[:, 0]
print("largest score %.3f" % p.max())
print("test ROC AUC %.4f, average precision %.4f (random %.4f)" % (roc_auc_score(y_te, p), average_precision_score(y_te, p), y_te.mean()))
