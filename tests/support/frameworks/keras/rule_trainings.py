"""Small trainings of Keras in which there is something for as many rules as possible."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

_RNG = np.random.default_rng(0)
FEATURES = _RNG.normal(size=(512, 8)).astype("float32")
TOKENS = _RNG.integers(0, 16, (512, 6))
CLASSES = (FEATURES[:, 0] > 0).astype("int64") + (FEATURES[:, 1] > 0)


def fit_features(hook=None):
    """Train a classifier of features, with dropout, normalization, and an evaluation each epoch."""
    model = _compiled(
        keras.Input((8,)),
        layers.Dense(16, activation="relu"),
        layers.BatchNormalization(),
        layers.Dropout(0.1),
        layers.Dense(3),
    )
    _fit(model, FEATURES, CLASSES, hook)


def fit_tokens(hook=None):
    """Train a classifier of sequences of tokens."""
    model = _compiled(
        keras.Input((6,), dtype="int32"), layers.Embedding(16, 4), layers.Flatten(), layers.Dense(3)
    )
    _fit(model, TOKENS.astype("int32"), TOKENS[:, 0] % 3, hook)


def fit_numbers(hook=None):
    """Train a regression."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01, global_clipnorm=1.0), "mse")
    _fit(model, FEATURES, FEATURES.sum(1, keepdims=True), hook)


def _compiled(*parts):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(list(parts))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    return model


def _fit(model, x, y, hook):
    model.fit(
        x[:384],
        y[:384],
        batch_size=32,
        epochs=20,
        validation_data=(x[384:], y[384:]),
        verbose=0,
        callbacks=[hook] if hook else [],
    )
