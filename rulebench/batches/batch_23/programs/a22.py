"""One-step-ahead forecast of a noisy power signal with a 1D CNN (JAX backend)."""
import os
os.environ["KERAS_BACKEND"] = "jax"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers


@dataclass
class Settings:
    window: int = 32
    epochs: int = 12
    batch_size: int = 64
    lr: float = 2e-3
    seed: int = 27


S = Settings()
keras.utils.set_random_seed(S.seed)
rng = np.random.default_rng(S.seed)

n = 5000
t = np.arange(n)
ar = np.zeros(n)
for i in range(2, n):
    ar[i] = 1.4 * ar[i - 1] - 0.7 * ar[i - 2] + 0.35 * rng.normal()
signal = 1.5 * np.sin(2 * np.pi * t / 48) + 0.7 * np.sin(2 * np.pi * t / 11) + ar

split = int(0.8 * n)
mean, std = signal[:split].mean(), signal[:split].std()
signal = ((signal - mean) / std).astype("float32")


def make_windows(x, w):
    inputs, targets = [], []
    for end in range(w, len(x)):
        inputs.append(x[end - w + 1:end + 1])
        targets.append(x[end])
    return np.array(inputs)[..., None], np.array(targets)[:, None]


x_train, y_train = make_windows(signal[:split], S.window)
x_test, y_test = make_windows(signal[split:], S.window)
print("train windows:", x_train.shape, "test windows:", x_test.shape)

model = keras.Sequential([
    keras.Input((S.window, 1)),
    layers.Conv1D(32, 5, padding="causal", activation="relu"),
    layers.Conv1D(32, 5, padding="causal", dilation_rate=2, activation="relu"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(S.lr), loss="mse", metrics=["mae"])
model.fit(x_train, y_train, validation_data=(x_test, y_test),
          epochs=S.epochs, batch_size=S.batch_size, verbose=2)

print("test mse:", round(model.evaluate(x_test, y_test, verbose=0)[0], 5))

# free-running forecast from 40 different starting points
test_signal = signal[split:]
starts = np.arange(S.window, len(test_signal) - 12, 20)[:40]
history = np.stack([test_signal[s - S.window:s] for s in starts])
for h in range(12):
    nxt = model.predict(history[..., None], verbose=0)
    history = np.concatenate([history[:, 1:], nxt], axis=1)
    if h in (0, 2, 5, 11):
        truth = np.array([test_signal[s + h] for s in starts])
        print(f"horizon {h + 1:2d}: rmse {np.sqrt(((nxt[:, 0] - truth) ** 2).mean()):.3f}")
