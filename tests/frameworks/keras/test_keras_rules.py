"""Which of the default rules can judge trainings of Keras, as the page on parity has it."""

from __future__ import annotations

import subprocess
import sys

import keras
import numpy as np
import pytest

from stepwatch.hooks.keras import KerasHook
from stepwatch.rules import watch
from stepwatch.trial import Trial
from tests.support.frameworks import parity
from tests.support.frameworks.keras import games, rule_trainings

pytestmark = pytest.mark.framework
COLUMNS = {
    "tensorflow": "Keras on TensorFlow",
    "jax": "Keras on JAX",
    "torch": "Keras on PyTorch",
}

LOOP_WITH_TARGET = """
import keras
import torch

def network():
    layers = [keras.layers.Input((4,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(2)]
    return keras.Sequential(layers)

keras.utils.set_random_seed(0)
net, target = network(), network()
target.set_weights(net.get_weights())
optimizer = keras.optimizers.Adam(1e-3)
weights = net.trainable_weights
optimizer.build(weights)
for _ in range(40):
    x = torch.randn(16, 4)
    with torch.no_grad():
        wanted = x.sum(1) + 0.5 * target(x).amax(1)
    loss = torch.nn.functional.smooth_l1_loss(net(x)[:, 0], wanted)
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        optimizer.apply([one.value.grad for one in weights], weights)
"""


@pytest.mark.parametrize("way", ["in turn", "one after the other"])
def test_models_trained_alternately_are_noted(way, tmp_path):
    """As a discriminator and what a generator makes of it, be it of another object."""
    keras.utils.set_random_seed(0)
    models = [keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]) for _ in range(2)]
    for model in models:
        model.compile("sgd", "mse")
    x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        for model in 8 * models if way == "in turn" else [*8 * models[:1], *8 * models[1:]]:
            model.train_on_batch(x, y)

    names = Trial(tmp_path / "run").tensor_names()
    assert (way == "in turn") is ("loop/takes_turns" in names)


class TestParity:
    def test_the_rules_that_can_judge_are_those_of_the_page(self, tmp_path):
        """Neither more nor fewer: what is captured and what the page says belong together."""
        runs = []
        for train in ("fit_features", "fit_tokens", "fit_numbers"):
            runs.append(tmp_path / train)
            with KerasHook(run=runs[-1], say=lambda _: None, strict=True):
                getattr(rule_trainings, train)()

        assert parity.promised(COLUMNS[keras.backend.backend()]) == parity.judged(*runs)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="fit keeps one optimizer there")
class TestGames:
    """A train step of one's own updates two networks by two losses, with an optimizer for each."""

    @pytest.mark.parametrize(
        ("wants", "apart", "found"),
        [(1.0, False, ["helped"]), (1.0, True, ["helped"]), (0.0, False, []), (0.0, True, [])],
    )
    def test_a_generator_that_wants_to_be_recognized_is_found(self, wants, apart, found, tmp_path):
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            games.play(wants, apart=apart)
        alarms = watch(Trial(tmp_path / "run"), ["gan_collapse"])

        assert found == [one.condition for one in alarms][:1]

    def test_the_steps_of_optimizers_and_the_gradients_are_counted(self, tmp_path):
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            games.play(0.0)
        trial = Trial(tmp_path / "run")
        updates, backwards = (
            trial.tensor(f"loop/{name}").statistics()["sum"].tolist()
            for name in ("optimizer_steps", "backwards")
        )

        assert [2, 4, 6] == updates[:3]
        assert {2} == set(backwards)


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="others compute gradients anew")
class TestGradientsOfTorch:
    """A train step of one's own has to set them to zero."""

    @pytest.mark.parametrize(("zeroed", "found"), [(False, ["zero_grad"]), (True, [])])
    def test_gradients_that_nobody_sets_to_zero_are_found(self, zeroed, found, tmp_path):
        class Made(keras.Sequential):
            def train_step(self, data):
                x, y = data
                if zeroed:
                    self.zero_grad()
                loss = self.compute_loss(x, y, self(x, training=True))
                loss.backward()
                weights = list(self.trainable_weights)
                self.optimizer.apply([one.value.grad for one in weights], weights)
                return {"loss": loss}

        rng = np.random.default_rng(0)
        x = rng.normal(size=(160, 4)).astype("float32")
        model = Made([keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, x.sum(1, keepdims=True), batch_size=8, epochs=1, verbose=0)
        alarms = watch(Trial(tmp_path / "run"), ["untrained_parameter"])

        assert found == [one.condition for one in alarms]

    @pytest.mark.parametrize(("zeroed", "found"), [(False, ["left_over"]), (True, [])])
    def test_what_a_generator_leaves_in_its_discriminator_is_found(self, zeroed, found, tmp_path):
        """Unless it is zeroed right before the discriminator's own loss is differentiated."""

        class Game(games.Game):
            def _update(self, index, network, loss_of):
                if zeroed or index == 1:
                    self.zero_grad()
                loss = loss_of()
                loss.backward()
                weights = list(network.trainable_weights)
                self.pair[index].apply([one.value.grad for one in weights], weights)
                return loss

        game = Game(0.0)
        game.compile()
        points = np.random.default_rng(0).normal(size=(160, 2)).astype("float32")
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            game.fit(points, batch_size=16, epochs=1, verbose=0)
        alarms = watch(Trial(tmp_path / "run"), ["untrained_parameter"])

        assert found == [one.condition for one in alarms]

    def test_a_target_network_of_a_loop_by_hand_is_not_trained(self, tmp_path):
        """Keras calls layers as it builds models, which is no training of them."""
        script = tmp_path / "script.py"
        script.write_text(LOOP_WITH_TARGET)
        run = tmp_path / "run"
        command = [sys.executable, "-m", "stepwatch", "run", "--run", str(run), str(script)]
        subprocess.run(command, check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)

        trial = Trial(run)
        assert any(name.startswith("gradient/") for name in trial.tensor_names())
        assert list(watch(trial, ["untrained_parameter"])) == []
