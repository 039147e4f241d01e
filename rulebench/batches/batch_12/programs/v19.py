import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# sensor failure yes/no from vibration
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
N, T = 1200, 64
t = np.arange(T)
label = (rng.uniform(size=N) < 0.35).astype("int32")
freq = rng.uniform(0.2, 0.4, (N, 1))
sig = np.sin(freq * t + rng.uniform(0, 6.28, (N, 1)))
sig += label[:, None] * 0.8 * np.sin(2.5 * freq * t + rng.uniform(0, 6.28, (N, 1)))
sig += 0.3 * rng.normal(size=(N, T))
sig = sig[..., None].astype("float32")

model = keras.Sequential([
    layers.Input((T, 1)),
    layers.Conv1D(16, 7, activation="relu"),
    layers.MaxPooling1D(2),
    layers.Conv1D(16, 5, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy", metrics=["accuracy"])
h = model.fit(sig[:1000], label[:1000], epochs=15, batch_size=32,
              validation_data=(sig[1000:], label[1000:]), verbose=2)
print("val acc", h.history["val_accuracy"][-1])
