import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import math
import numpy as np
import keras
from keras import layers

SEED = 1
keras.utils.set_random_seed(SEED)

# hourly electricity demand of a village, 200 days; forecast the next hour from the last 48
hours = np.arange(24 * 200)
rng = np.random.default_rng(SEED)
temp = 10 + 8 * np.sin(2 * np.pi * hours / (24 * 90)) + np.cumsum(rng.normal(0, 0.15, len(hours)))
demand = (50 + 12 * np.sin(2 * np.pi * (hours - 7) / 24) + 6 * np.sin(4 * np.pi * hours / 24)
          - 8 * ((hours // 24) % 7 >= 5) - 0.8 * temp + rng.normal(0, 1.0, len(hours)))
split = 24 * 160
mu, sd = demand[:split].mean(), demand[:split].std()
z = ((demand - mu) / sd).astype("float32")
W = 48


def windows(series):
    v = np.lib.stride_tricks.sliding_window_view(series, W + 1)
    return v[:, :W, None], v[:, W]


x_tr, y_tr = windows(z[:split])
x_va, y_va = windows(z[split - W:])

EPOCHS, BATCH = 14, 64
steps_per_epoch = math.ceil(len(x_tr) / BATCH)
print("windows", x_tr.shape, "steps per epoch", steps_per_epoch)

# cosine annealing down to zero over the whole training
lr = keras.optimizers.schedules.CosineDecay(initial_learning_rate=2e-3, decay_steps=EPOCHS, alpha=0.0)

model = keras.Sequential([
    layers.Input((W, 1)),
    layers.Conv1D(24, 4, activation="relu", padding="causal"),
    layers.Conv1D(24, 4, activation="relu", padding="causal", dilation_rate=4),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(lr), loss="mse", metrics=["mae"])
hist = model.fit(x_tr, y_tr, epochs=EPOCHS, batch_size=BATCH, shuffle=True,
                 validation_data=(x_va, y_va), verbose=0)
for e in range(EPOCHS):
    print(f"epoch {e + 1:2d}: mse {hist.history['loss'][e]:.4f} val_mse {hist.history['val_loss'][e]:.4f}")

pred = model.predict(x_va, verbose=0)[:, 0]
print("validation MAE in kW: %.3f" % (np.abs(pred - y_va).mean() * sd),
      "(persistence %.3f)" % (np.abs(x_va[:, -1, 0] - y_va).mean() * sd))
