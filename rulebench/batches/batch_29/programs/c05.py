import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
# Anomaly detection: the autoencoder only ever sees zeros to twos; threes to nines are the anomalies.
SEED = 12
keras.utils.set_random_seed(SEED)
X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32")
rng = np.random.default_rng(SEED)
normal = rng.permutation(np.where(y < 3)[0]); odd = np.where(y >= 3)[0]
train, hold = normal[:400], normal[400:]
ae = keras.Sequential([keras.Input((64,)), layers.GaussianNoise(0.2), layers.Dense(48, activation="relu"), layers.Dense(6),
                       layers.Dense(48, activation="relu"), layers.Dense(64, activation="sigmoid")])
ae.compile(keras.optimizers.Adam(2e-3), loss="binary_crossentropy")   # grey levels as soft targets
ae.fit(X[train], X[train], epochs=150, batch_size=50, verbose=0,
       callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=lambda e, l: print(e, l) if e % 15 == 0 else None)])
def err(ix): return ((ae.predict(X[ix], verbose=0) - X[ix]) ** 2).mean(1)
eh, eo = err(hold), err(odd)
print("reconstruction mse: normal %.4f, anomalies %.4f" % (eh.mean(), eo.mean()))
print("AUC %.4f" % roc_auc_score(np.r_[np.zeros(len(eh)), np.ones(len(eo))], np.r_[eh, eo]))
