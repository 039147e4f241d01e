"""Transfer in three phases: denoising autoencoder on unlabelled digits, a head on the frozen encoder, then gentle fine-tuning."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

SEED = 9
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32")
order = rng.permutation(len(X))
X, y = X[order], y[order]
unlabelled, test_x, test_y = X[:1200], X[1200:], y[1200:]
few_x, few_y = X[:150], y[:150]

# Phase 1: the input is masked, the target is the clean picture
encoder = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="relu"), layers.Dense(96, activation="relu")], name="encoder")
decoder = keras.Sequential([keras.Input((96,)), layers.Dense(256, activation="relu"), layers.Dense(64)], name="decoder")
inp = keras.Input((64,))
auto = keras.Model(inp, decoder(encoder(inp)))
auto.compile(keras.optimizers.Adam(1e-3), loss="mse")
noisy = np.concatenate([unlabelled * (rng.random(unlabelled.shape) > 0.4) for _ in range(4)])
h = auto.fit(noisy, np.tile(unlabelled, (4, 1)), epochs=12, batch_size=64, verbose=0)
print("phase 1 reconstruction", [round(v, 4) for v in h.history["loss"][::3]])

# Phase 2: only the new head moves
encoder.trainable = False
clf = keras.Sequential([keras.Input((64,)), encoder, layers.Dense(10)])
ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
clf.compile(keras.optimizers.Adam(5e-3), loss=ce, metrics=["accuracy"])
h = clf.fit(few_x, few_y, epochs=30, batch_size=25, verbose=0)
print("phase 2 loss", [round(v, 3) for v in h.history["loss"][::6]], "test acc %.4f" % clf.evaluate(test_x, test_y, verbose=0)[1])

# Phase 3: everything moves, a hundred times slower
encoder.trainable = True
clf.compile(keras.optimizers.Adam(5e-5), loss=ce, metrics=["accuracy"])
h = clf.fit(few_x, few_y, epochs=25, batch_size=25, verbose=0)
print("phase 3 loss", [round(v, 4) for v in h.history["loss"][::6]])
print("test accuracy with 150 labels: %.4f" % clf.evaluate(test_x, test_y, verbose=0)[1])
