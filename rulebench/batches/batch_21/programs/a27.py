import os
os.environ["KERAS_BACKEND"] = "jax"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass(frozen=True)
class Config:
    annotator_error: float = 0.3
    epochs: int = 20
    batch_size: int = 32
    lr: float = 1e-3
    ema: float = 0.98
    seed: int = 37


cfg = Config()
keras.utils.set_random_seed(cfg.seed)
rng = np.random.default_rng(cfg.seed)

x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    x, y, test_size=0.25, random_state=cfg.seed, stratify=y
)

# crowd labels: a part of the annotators clicks anywhere; the test labels were checked by hand
crowd = y_train.copy()
careless = rng.random(len(crowd)) < cfg.annotator_error
crowd[careless] = rng.integers(0, 10, careless.sum())
print("crowd labels that agree with the experts:", (crowd == y_train).mean().round(3))

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dropout(0.1),
    layers.Dense(48, activation="relu"),
    layers.Dropout(0.4),
    layers.Dense(10),
])
model.compile(
    optimizer=keras.optimizers.AdamW(
        cfg.lr, weight_decay=1e-2, use_ema=True, ema_momentum=cfg.ema,
    ),
    loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    metrics=["accuracy"],
)
model.fit(
    x_train, keras.utils.to_categorical(crowd, 10),
    validation_data=(x_test, keras.utils.to_categorical(y_test, 10)),
    epochs=cfg.epochs, batch_size=cfg.batch_size, verbose=2,
    callbacks=[keras.callbacks.SwapEMAWeights(swap_on_epoch=False)],
)
pred = model.predict(x_test, verbose=0).argmax(1)
print("accuracy against the checked labels:", (pred == y_test).mean().round(4))
