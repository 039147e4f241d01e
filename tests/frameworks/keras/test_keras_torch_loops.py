"""Models of Keras that a loop of PyTorch trains."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

from stepwatch.hooks.observations import DEPENDENCE
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


def net(*sizes):
    return keras.Sequential([keras.Input((sizes[0],)), *map(layers.Dense, sizes[1:])])


def untrained(run, weights_of, *, loaded=False, before=(), every=1):
    """Return what is found of an encoder and a decoder that an optimizer of Keras trains.

    Args:
        weights_of: Returns what the optimizer is given, of the encoder and the decoder.
        loaded: Whether the weights of the encoder are not as they were drawn.
        before: Sizes of a model that was trained before.
        every: Gradients are accumulated over so many steps.
    """
    import torch

    from stepwatch import TorchHook

    def train(models, weights, **options):
        optimizer = keras.optimizers.SGD(0.01, **options)
        for _ in range(25):
            x = torch.randn(16, 24)
            predicted = x
            for model in models:
                model.zero_grad()
                predicted = model(predicted, training=True)
            keras.ops.mean((predicted - x) ** 2).backward()
            with torch.no_grad():
                optimizer.apply([one.value.grad for one in weights], weights)

    keras.utils.set_random_seed(0)
    with TorchHook(run=run, say=lambda _: None, strict=True):
        earlier = net(*before) if before else None
        if earlier is not None:
            train([earlier], earlier.trainable_weights)
        encoder, decoder = net(24, 16, 4), net(4, 24)
        for one in encoder.trainable_weights if loaded else ():
            # As no layer is drawn: their mean is not 0.
            one.assign(keras.random.uniform(one.shape, 0.0, 0.3, seed=1))
        accumulated = {} if every == 1 else {"gradient_accumulation_steps": every}
        train([encoder, decoder], weights_of(encoder, decoder), **accumulated)
    return watch(Trial(run), ["untrained_parameter"])


def all_of(encoder, decoder):
    return [*encoder.trainable_weights, *decoder.trainable_weights]


def last_of(encoder, decoder):
    return decoder.trainable_weights


def test_an_encoder_that_is_not_given_to_the_optimizer_is_named(tmp_path):
    (found,) = untrained(tmp_path / "run", last_of)

    assert ("not_in_optimizer", "warning") == (found.condition, found.severity)
    assert found.message.startswith("4 of 6 parameters are in no optimizer")


def test_an_encoder_with_weights_of_its_own_may_be_meant_to_stay(tmp_path):
    (found,) = untrained(tmp_path / "run", last_of, loaded=True)

    assert "info" == found.severity


@pytest.mark.parametrize(
    "how", [{}, {"before": (24, 8, 24)}, {"every": 20}], ids=["both", "after another", "seldom"]
)
def test_what_is_trained_is_not_accused(tmp_path, how):
    assert [] == list(untrained(tmp_path / "run", all_of, **how))


def test_keras_batch_norm_in_training_mode_mixes_samples(tmp_path):
    """What a prediction depends on of other samples is not held against it then."""
    import torch

    from stepwatch import TorchHook

    model = keras.Sequential([keras.Input((4,)), layers.BatchNormalization(), layers.Dense(3)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"say": lambda _: None, "strict": True, "policy": ["derivatives:raw:every=5"]}
    with TorchHook(run=tmp_path / "run", **options):
        for _ in range(7):
            optimizer.zero_grad()
            outputs = model(torch.from_numpy(X), training=True)
            torch.nn.functional.cross_entropy(outputs, torch.from_numpy(Y)).backward()
            optimizer.step()
    value = Trial(tmp_path / "run").tensor("dependence/cross_entropy").value(5)

    assert len(X) == value[DEPENDENCE.index("together")]
