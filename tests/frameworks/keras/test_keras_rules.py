"""Which of the default rules can judge trainings of Keras, as the page on parity has it."""

from __future__ import annotations

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
