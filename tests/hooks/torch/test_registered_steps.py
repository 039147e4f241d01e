"""Steps of a registered hook: when they begin, how they are numbered, what belongs to them."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch

from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import SavedCollection
from stepwatch.model.steps import Mode
from stepwatch_smdebug.hooks.base import StepNumbers
from stepwatch_smdebug.hooks.torch import SmdebugTorchHook
from tests.support.hooks.torch.registered_runs import Registered, a_net, batch, config_of


def scalar(value: float = 1.5) -> np.ndarray:
    return np.array([value])


class TestCounting:
    def test_every_forward_of_the_model_is_a_step(self, registered):
        """Whether anything is trained does not matter."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch()).sum().backward()
        with torch.no_grad():
            net(batch())

        assert [(0, Mode.GLOBAL, 0), (1, Mode.GLOBAL, 1)] == one.steps()

    def test_modes_count_their_own_steps(self, registered):
        """A mode begins at 0 whenever it is used first, and goes on where it was."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        for mode in (Mode.TRAIN, Mode.EVAL, Mode.TRAIN, Mode.GLOBAL):
            one.hook.set_mode(mode)
            net(batch())

        expected = [(0, Mode.TRAIN, 0), (1, Mode.EVAL, 0), (2, Mode.TRAIN, 1), (3, Mode.GLOBAL, 3)]
        assert expected == one.steps()

    def test_steps_that_save_nothing_are_counted(self, registered):
        """Numbers tell when something was saved, not how often."""
        one, net = registered(interval=3), a_net()
        one.hook.register_module(net)
        for _ in range(7):
            net(batch())

        assert [0, 3, 6] == [step for step, *_ in one.steps()]

    def test_numbers_go_on_where_a_training_is_resumed(self, registered):
        """The first step after a restart follows the last one before it."""
        numbers = StepNumbers(9, 9, {Mode.TRAIN: 6})
        one, net = registered(hook={"numbers": numbers}), a_net()
        one.hook.register_module(net)
        one.hook.set_mode(Mode.TRAIN)
        net(batch())

        assert [(10, Mode.TRAIN, 7)] == one.steps()

    def test_two_models_share_the_count(self, registered):
        """The forward of either is a step, with the parameters of that one."""
        one, net, other = registered(), a_net(), torch.nn.Linear(2, 1)
        one.hook.register_module(net)
        one.hook.register_module(other)
        other(net(batch()))

        assert {"Linear_weight", "Linear_bias"} <= set(one.names(1))
        assert "Net_fc.weight" not in one.names(1)


class TestByHand:
    def test_a_scalar_is_saved_at_a_step_at_which_nothing_else_is(self, registered):
        """A scalar is saved whatever the configuration says."""
        one, net = registered(interval=10), a_net()
        one.hook.register_module(net)
        for step in range(3):
            net(batch())
            one.hook.save_scalar("scalar/loss", scalar(step))

        assert ["scalar/loss"] == one.names(2)
        assert 2.0 == one.value(2, "scalar/loss")[0]

    def test_a_scalar_after_the_last_step_leaves_the_step_whole(self, registered):
        """What was saved of the last step is still there."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch())
        one.hook.save_scalar("scalar/after", scalar())

        assert {"Net_fc.weight", "scalar/after"} <= set(one.names(0))

    def test_a_scalar_has_the_mode_in_which_it_was_saved(self, registered):
        """Setting another mode before the next step does not change it."""
        one, net = registered(interval=10), a_net()
        one.hook.register_module(net)
        one.hook.set_mode(Mode.TRAIN)
        net(batch())
        one.hook.save_scalar("scalar/loss", scalar())
        one.hook.set_mode(Mode.EVAL)
        net(batch())

        assert (0, Mode.TRAIN, 0) == one.steps()[0]
        assert "scalar/loss" in one.names(0)

    def test_a_scalar_without_any_step_is_step_0(self, registered):
        """A script that trains nothing still gets what it saved."""
        one = registered()
        one.hook.save_scalar("scalar/lonely", scalar())

        assert ["scalar/lonely"] == one.names(0)

    def test_a_tensor_joins_all_its_collections_even_new_ones(self, registered):
        """Each of them holds it afterwards."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch())
        one.hook.save_tensor("mine", torch.ones(2, 2), ["all", "made_later"])

        holding = [name for name, c in one.reader.collections.items() if "mine" in c.tensors]
        assert ["all", "made_later"] == sorted(holding)
        assert np.ones((2, 2)).tolist() == one.value(0, "mine").tolist()

    def test_a_tensor_is_copied_when_it_is_saved(self, registered):
        """What happens to it afterwards does not show."""
        one, net, mine = registered(), a_net(), torch.zeros(2)
        one.hook.register_module(net)
        net(batch())
        one.hook.save_tensor("mine", mine, ["all"])
        mine.fill_(7)

        assert [0.0, 0.0] == one.value(0, "mine").tolist()

    def test_a_tensor_is_left_out_where_nothing_is_saved(self, registered):
        """Tensors of the script's own keep to the steps of the rest."""
        one, net = registered(interval=2), a_net()
        one.hook.register_module(net)
        for step in range(2):
            net(batch())
            one.hook.save_tensor(f"mine{step}", torch.ones(1), ["all"])

        assert "mine0" in one.names(0)
        assert [] == one.names(1)


class TestUse:
    def test_a_model_is_not_registered_twice(self, registered):
        """Nor is a part of one that is."""
        one, net = registered(), a_net()
        one.hook.register_module(net)

        with pytest.raises(ConfigError, match="registered already"):
            one.hook.register_module(net.fc)

    def test_what_cannot_be_meant_is_raised_before_the_first_step(self, tmp_path):
        """Nothing was trained yet, and the script gets what its author has to know."""

        def wrong():
            raise ConfigError("no")

        hook, net = SmdebugTorchHook(wrong), a_net()
        hook.register_module(net)
        with pytest.raises(ConfigError):
            net(batch())
        hook.detach()

    def test_a_hook_without_a_model_says_so(self, registered, caplog):
        """Otherwise nobody knows why the run is empty."""
        one = registered()
        with caplog.at_level(logging.WARNING, "stepwatch"):
            one.hook.close()

        assert "no model was registered" in caplog.text

    def test_a_changed_configuration_holds_from_the_next_step_on(self, tmp_path):
        """Steps that are saved already stay as they were."""
        collections = [SavedCollection("w", ("weight$",))]
        hook = SmdebugTorchHook(lambda: config_of(tmp_path / "run", *collections), strict=True)
        net = a_net()
        hook.register_module(net)
        net(batch())
        collections.append(SavedCollection("b", ("bias$",)))
        hook.reconfigure()
        net(batch())
        hook.close()

        run = Registered(tmp_path / "other")
        run.run = str(tmp_path / "run")
        assert ["Net_fc.weight"] == run.names(0)
        assert ["Net_fc.weight", "Net_fc.bias"] == run.names(1)

    def test_only_the_first_process_writes_unless_all_are_to(self, registered, tmp_path):
        """The others count their steps and do nothing else."""
        one, net = registered(hook={"rank": (1, 2)}), a_net()
        one.hook.register_module(net)
        net(batch())
        one.hook.close()

        assert not (tmp_path / "run0").exists()
        assert 0 == one.hook.numbers.step

    def test_the_first_model_that_runs_can_be_taken(self, registered):
        """With the losses that run, and without being told of either."""
        one, net, loss = registered(hook={"register_first": True}), a_net(), torch.nn.MSELoss()
        loss(net(batch()), torch.zeros(4, 2)).backward()

        assert {"Net_output_0", "MSELoss_output_0", "gradient/Net_fc.weight"} <= set(one.names(0))
