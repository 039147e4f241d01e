"""Anomaly detection with an autoencoder: trained on one kind of digit only, everything else should
reconstruct badly."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

SEED = 13
keras.utils.set_random_seed(SEED)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
normal = X[y == 0]
perm = np.random.permutation(len(normal))
train, held = normal[perm[:140]], normal[perm[140:]]
others = X[y != 0]

ae = keras.Sequential([
    keras.layers.Input((64,)),
    keras.layers.GaussianNoise(0.1),
    keras.layers.Dense(32, activation="elu"),
    keras.layers.Dense(6),
    keras.layers.Dense(32, activation="elu"),
    keras.layers.Dense(64, activation="sigmoid"),
])
# pixel intensities are fractions in [0, 1]
ae.compile(optimizer=keras.optimizers.Nadam(2e-3), loss="binary_crossentropy")
h = ae.fit(train, train, batch_size=14, epochs=70, verbose=0, validation_data=(held, held))
for e in range(0, 70, 10):
    print(f"epoch {e:3d}  loss {h.history['loss'][e]:.4f}  val_loss {h.history['val_loss'][e]:.4f}")
floor = -np.mean(train * np.log(np.clip(train, 1e-7, 1)) + (1 - train) * np.log(np.clip(1 - train, 1e-7, 1)))
print("entropy floor of the targets %.4f" % floor)


def score(a):
    return ((ae.predict(a, verbose=0) - a) ** 2).mean(1)


s = np.r_[score(held), score(others)]
lab = np.r_[np.zeros(len(held)), np.ones(len(others))]
print("AUC normal vs. other digits: %.4f" % roc_auc_score(lab, s))
