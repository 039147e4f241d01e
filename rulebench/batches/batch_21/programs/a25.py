# %% [markdown]
# Anomaly detection on the breast cancer measurements: an autoencoder learns the
# benign cases, and malignant ones should come out with a larger error.

# %%
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(9)

# %%
data = load_breast_cancer()
benign = data.data[data.target == 1]
malignant = data.data[data.target == 0]
rng = np.random.default_rng(9)
benign = benign[rng.permutation(len(benign))]
benign_train, benign_test = benign[:280], benign[280:]

scaler = StandardScaler().fit(benign_train)
x_train = scaler.transform(benign_train).astype("float32")
x_benign = scaler.transform(benign_test).astype("float32")
x_malignant = scaler.transform(malignant).astype("float32")
print(x_train.shape, x_benign.shape, x_malignant.shape)

# %%
n_features = x_train.shape[1]
encoder = keras.Sequential([
    keras.Input((n_features,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(8),
], name="encoder")
decoder = keras.Sequential([
    keras.Input((8,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(n_features, activation="relu"),
], name="decoder")

inputs = keras.Input((n_features,))
autoencoder = keras.Model(inputs, decoder(encoder(inputs)))
autoencoder.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")

# %%
autoencoder.fit(
    x_train, x_train,
    validation_data=(x_benign, x_benign),
    epochs=40, batch_size=32, verbose=2,
)


# %%
def error(x):
    return ((autoencoder.predict(x, verbose=0) - x) ** 2).mean(1)


e_train, e_benign, e_malignant = error(x_train), error(x_benign), error(x_malignant)
threshold = np.quantile(e_train, 0.95)
print("reconstruction error, benign test:", e_benign.mean().round(4))
print("reconstruction error, malignant:  ", e_malignant.mean().round(4))
print("threshold", threshold.round(4), "recall on malignant", (e_malignant > threshold).mean().round(3))
print("AUC", roc_auc_score(np.r_[np.zeros(len(e_benign)), np.ones(len(e_malignant))],
                           np.r_[e_benign, e_malignant]))
