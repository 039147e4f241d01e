"""A training of Keras, as the contract of hooks needs it; the same on every backend."""

from __future__ import annotations

from types import MappingProxyType

import keras
import numpy as np

from stepwatch.hooks.keras import KerasHook
from stepwatch.testing.hook_contract import HookContract, Trained

SCRIPT = """
import keras
import numpy as np
keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=({steps} * 16, 4)).astype("float32")
layers = keras.layers
model = keras.Sequential(
    [keras.Input((4,)), layers.Dense(8, "relu"), layers.Dropout(0.5), layers.Dense(1)]
)
model.compile(keras.optimizers.Adam(0.01), "mse")
for step in range({steps}):
    batch = x[step * 16:step * 16 + 16]
    model.reset_metrics()
    loss = model.train_on_batch(batch, batch.sum(1, keepdims=True))
print(repr(float(loss)))
"""


class KerasContract(HookContract):
    """The contract, for the backend that runs."""

    loss = "loss/loss"
    compiled = MappingProxyType({})

    def make(self, run, **options):
        return KerasHook(run=run, **options)

    def model(self):
        keras.backend.clear_session(free_memory=False)
        keras.utils.set_random_seed(0)
        layers = keras.layers
        model = keras.Sequential(
            [
                keras.Input((6, 6, 1)),
                layers.Conv2D(4, 3, activation="relu"),
                layers.BatchNormalization(),
                layers.Flatten(),
                layers.Dropout(0.5),
                layers.Dense(1),
            ]
        )
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"], **self.compiled)
        return model

    def train(self, hook, steps, each=lambda _: None):
        del hook  # it sees every model
        model, losses = self.model(), []
        x = np.random.default_rng(0).normal(size=(steps * 16, 6, 6, 1)).astype("float32")
        user = OfTheUser(each, losses)
        y = x.sum((1, 2, 3))[:, None]
        model.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0, callbacks=[user])
        weights = {f"{one.path}": np.asarray(one) for one in model.trainable_variables}
        return Trained({name.removeprefix("sequential/"): w for name, w in weights.items()}, losses)

    def script(self, steps):
        return SCRIPT.format(steps=steps)

    def patched(self):
        keras_model = keras.Model
        return (
            keras_model.make_train_function,
            keras_model.train_on_batch,
            keras_model.compute_loss,
            keras.layers.Layer.__call__,
            keras.optimizers.Optimizer.apply,
            keras.callbacks.CallbackList.on_train_batch_end,
        )


class OfTheUser(keras.callbacks.Callback):
    """Takes the loss of each batch out of Keras's mean over the batches of an epoch."""

    def __init__(self, each, losses):
        super().__init__()
        self.each, self.losses, self.total = each, losses, 0.0

    def on_train_batch_begin(self, batch, logs=None):
        self.each(batch)

    def on_train_batch_end(self, batch, logs=None):
        total = logs["loss"] * (batch + 1)
        self.losses.append(total - self.total)
        self.total = total
