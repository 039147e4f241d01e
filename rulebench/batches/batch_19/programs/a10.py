import os
os.environ["KERAS_BACKEND"] = "jax"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers


@dataclass(frozen=True)
class Settings:
    rows: int = 6000
    features: int = 15
    label_noise: float = 0.3
    batch: int = 32
    epochs: int = 8
    lr: float = 2e-3
    ema: float = 0.99


S = Settings()
keras.utils.set_random_seed(47)
rng = np.random.default_rng(47)

# crowd-sourced labels: three raters in ten answer at random side
x = rng.normal(size=(S.rows, S.features)).astype("float32")
w = rng.normal(size=S.features)
clean = ((x @ w + 1.5 * x[:, 0] * x[:, 1]) > 0).astype("float32")
flip = rng.random(S.rows) < S.label_noise
noisy = np.where(flip, 1 - clean, clean).astype("float32")

n = 4800
x_train, y_train = x[:n], noisy[:n]
x_test, y_test_noisy, y_test_clean = x[n:], noisy[n:], clean[n:]

model = keras.Sequential(
    [
        keras.Input((S.features,)),
        layers.Dense(24, activation="silu"),
        layers.Dropout(0.2),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(S.lr, use_ema=True, ema_momentum=S.ema, ema_overwrite_frequency=None),
    loss="binary_crossentropy",
    metrics=["accuracy"],
)
swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
hist = model.fit(
    x_train,
    y_train,
    validation_data=(x_test, y_test_noisy),
    epochs=S.epochs,
    batch_size=S.batch,
    callbacks=[swap],
    verbose=2,
)

p = S.label_noise
print(f"entropy of the label noise {-(p * np.log(p) + (1 - p) * np.log(1 - p)):.4f}")
pred = (model.predict(x_test, verbose=0)[:, 0] > 0.5).astype("float32")
print(f"accuracy on the given labels {np.mean(pred == y_test_noisy):.4f}")
print(f"accuracy on expert labels    {np.mean(pred == y_test_clean):.4f}")
