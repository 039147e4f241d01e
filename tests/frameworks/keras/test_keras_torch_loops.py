"""Models of Keras that a loop of PyTorch trains."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "torch", reason="these loops are of PyTorch"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 4)).astype("float32")
Y = RNG.integers(0, 3, 32)


class Normalized(keras.Model):
    """A model that normalizes and drops, as it is told."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop = layers.BatchNormalization(), layers.Dropout(0.2)
        self.last = layers.Dense(3)

    def call(self, x, training=False):
        return self.last(self.drop(self.norm(x, training=training), training=training))


def trained(run, call, *, frozen=False):
    """Return a model after twelve steps under a hook of PyTorch."""
    import torch

    from stepwatch import TorchHook

    keras.utils.set_random_seed(0)
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    with TorchHook(run=run, say=lambda _: None, strict=True):
        model = Normalized()
        model(x[:2])
        model.norm.trainable = not frozen
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            model.train()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(call(model, x), y).backward()
            optimizer.step()
    return model


@pytest.mark.parametrize(
    ("training", "frozen", "expected"),
    [(None, False, ["eval_mode_in_training"]), (True, False, []), (None, True, [])],
    ids=["not told", "told", "frozen"],
)
def test_train_does_not_switch_a_model_of_keras_to_training(training, frozen, expected, tmp_path):
    """It is called as in evaluation, unless it is called with ``training=True``."""
    options = {} if training is None else {"training": training}
    trained(tmp_path / "run", lambda model, x: model(x, **options), frozen=frozen)

    found = watch(Trial(tmp_path / "run"), ["training_mode"])
    assert expected == [one.condition for one in found]


def test_parameters_are_those_of_a_model_that_nobody_observes(tmp_path):
    """Though it is built, layer by layer, while Keras asks for shapes."""
    model = trained(tmp_path / "run", lambda model, x: model(x, training=True))

    assert {"cpu"} == {one.device.type for one in model.parameters()}
    assert len(model.variables) == len(list(model.parameters()))
