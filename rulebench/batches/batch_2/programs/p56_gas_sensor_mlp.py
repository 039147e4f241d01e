"""Gas identification from an 8-sensor e-nose.

The logger stores one long record per sensor, one after the other, so the binary
dump is (n_sensors, n_samples) in C order.
"""
import os
os.environ["KERAS_BACKEND"] = "torch"
import io
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)
N_SENSORS, N = 8, 1600
GASES = ["ethanol", "acetone", "ammonia", "toluene"]


def fake_dump():
    gas = rng.integers(0, 4, N)
    resp = rng.uniform(0.2, 1.0, (4, N_SENSORS))
    conc = rng.uniform(0.5, 2.0, N)
    sig = resp[gas].T * conc + 0.05 * rng.normal(size=(N_SENSORS, N))
    buf = io.BytesIO()
    buf.write(sig.astype("<f4").tobytes())
    return buf.getvalue(), gas


blob, gas = fake_dump()
raw = np.frombuffer(blob, dtype="<f4")
X = raw.reshape(-1, N_SENSORS)
X = np.log(np.clip(X, 1e-2, None))              # sensor response is a power law
X = (X - X[:1200].mean(0)) / X[:1200].std(0)

model = keras.Sequential([
    layers.Input((N_SENSORS,)),
    layers.Dense(48, activation="gelu"),
    layers.Dense(48, activation="gelu"),
    layers.Dense(len(GASES), activation="softmax"),
])
model.compile(optimizer=keras.optimizers.AdamW(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:1200], gas[:1200], validation_data=(X[1200:], gas[1200:]), batch_size=40, epochs=20, verbose=2)
