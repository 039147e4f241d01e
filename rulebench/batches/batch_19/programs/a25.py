import os
os.environ["KERAS_BACKEND"] = "torch"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers


@dataclass
class Config:
    n_samples: int = 4000
    n_features: int = 20
    n_classes: int = 4
    batch_size: int = 64
    epochs: int = 20
    peak_lr: float = 3e-3
    weight_decay: float = 1e-4
    seed: int = 7


cfg = Config()
keras.utils.set_random_seed(cfg.seed)
rng = np.random.default_rng(cfg.seed)


def make_data(cfg):
    x = rng.normal(size=(cfg.n_samples, cfg.n_features)).astype("float32")
    w1 = rng.normal(size=(cfg.n_features, 8)) / np.sqrt(cfg.n_features)
    w2 = rng.normal(size=(8, cfg.n_classes))
    scores = np.tanh(2.0 * x @ w1) @ w2
    y = scores.argmax(axis=1).astype("int64")
    return x, y


x, y = make_data(cfg)
split = int(0.8 * cfg.n_samples)
x_train, y_train = x[:split], y[:split]
x_test, y_test = x[split:], y[split:]

schedule = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=cfg.peak_lr,
    decay_steps=cfg.epochs,
    alpha=0.0,
)

inputs = keras.Input((cfg.n_features,))
h = inputs
for width in (96, 96):
    h = layers.Dense(width)(h)
    h = layers.LayerNormalization()(h)
    h = layers.Activation("gelu")(h)
outputs = layers.Dense(cfg.n_classes)(h)
model = keras.Model(inputs, outputs)

model.compile(
    optimizer=keras.optimizers.AdamW(schedule, weight_decay=cfg.weight_decay),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

history = model.fit(
    x_train,
    y_train,
    batch_size=cfg.batch_size,
    epochs=cfg.epochs,
    validation_data=(x_test, y_test),
    verbose=2,
)

test_loss, test_acc = model.evaluate(x_test, y_test, verbose=0)
counts = np.bincount(y_test, minlength=cfg.n_classes)
print("class counts:", counts.tolist())
print(f"majority baseline: {counts.max() / counts.sum():.3f}")
print(f"test loss {test_loss:.4f} acc {test_acc:.4f}")
