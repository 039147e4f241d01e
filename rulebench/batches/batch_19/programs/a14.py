import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

parser = argparse.ArgumentParser()
parser.add_argument("--latent", type=int, default=6)
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=2e-3)
args = parser.parse_args()

keras.utils.set_random_seed(4)

# Fit the autoencoder on benign samples and score the rest by reconstruction error
data = load_breast_cancer()
X, y = data.data.astype("float32"), data.target
benign = X[y == 1]
malignant = X[y == 0]
rng = np.random.default_rng(0)
benign = benign[rng.permutation(len(benign))]
n_train = int(0.75 * len(benign))

scaler = StandardScaler().fit(benign[:n_train])
x_train = scaler.transform(benign[:n_train])
x_hold = scaler.transform(benign[n_train:])
x_anom = scaler.transform(malignant)


def build(n_features, latent):
    inp = keras.Input((n_features,))
    h = layers.Dense(32, activation="elu")(inp)
    z = layers.Dense(latent, name="code")(h)
    h = layers.Dense(32, activation="elu")(z)
    out = layers.Dense(n_features, activation="sigmoid")(h)
    return keras.Model(inp, out, name="autoencoder")


model = build(x_train.shape[1], args.latent)
model.compile(optimizer=keras.optimizers.Adam(args.lr), loss="binary_crossentropy")
hist = model.fit(
    x_train,
    x_train,
    validation_data=(x_hold, x_hold),
    epochs=args.epochs,
    batch_size=args.batch_size,
    verbose=0,
)
for e in range(0, args.epochs, 8):
    print(
        f"epoch {e:3d} loss {hist.history['loss'][e]:.4f} "
        f"val_loss {hist.history['val_loss'][e]:.4f}"
    )


def recon_error(x):
    return np.mean((model.predict(x, verbose=0) - x) ** 2, axis=1)


err_hold = recon_error(x_hold)
err_anom = recon_error(x_anom)
print("reconstruction mse held-out benign:", err_hold.mean())
print("explained variance:", 1 - err_hold.mean() / np.var(x_hold))
thr = np.quantile(recon_error(x_train), 0.95)
print("share of malignant flagged:", np.mean(err_anom > thr))
