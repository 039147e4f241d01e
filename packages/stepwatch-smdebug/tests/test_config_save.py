"""When to save: smdebug's SaveConfig and SaveConfigMode."""

from __future__ import annotations

import copy

import pytest

from smdebug import SaveConfig, SaveConfigMode, modes
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from stepwatch.errors import ConfigError


class TestSaveConfigMode:
    def test_the_defaults(self):
        """Every 500 steps, from the first to the last."""
        assert {"save_interval": 500, "save_steps": [], "start_step": 0, "end_step": None} == (
            SaveConfigMode().to_json_dict()
        )

    def test_numbers_may_be_texts(self):
        """As SageMaker passes them."""
        assert SaveConfigMode(5, 1, 9) == SaveConfigMode("5", "1", "9")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"save_interval": 0},
            {"save_interval": "often"},
            {"save_interval": True},
            {"start_step": -1},
            {"end_step": 1.5},
            {"save_steps": "1,2"},
            {"save_steps": ["1"]},
            {"save_steps": [True]},
        ],
        ids=str,
    )
    def test_wrong_values_cannot_be_built(self, wrong):
        """Each is a SMDebugValueError, which is a ValueError and Stepwatch's ConfigError."""
        with pytest.raises(SMDebugValueError, match=next(iter(wrong))) as caught:
            SaveConfigMode(**wrong)
        assert isinstance(caught.value, ConfigError)

    def test_what_is_changed_counts(self):
        """It can be changed in place."""
        config = SaveConfigMode(save_interval=10)
        config.end_step = 0

        assert [] == [step for step in range(50) if config.should_save_step(step)]

    def test_no_two_share_their_steps(self):
        """A default list is everyone's own."""
        SaveConfigMode().save_steps.append(3)

        assert SaveConfigMode().save_steps == []


class TestSaveConfig:
    def test_plain_settings_are_those_of_every_mode(self):
        """And each mode can then be changed by itself."""
        config = SaveConfig(save_interval=2)
        config.get_save_config(modes.EVAL).save_interval = 3

        assert (True, False) == (
            config.should_save_step(modes.TRAIN, 2),
            config.should_save_step(modes.EVAL, 2),
        )

    def test_modes_left_out_have_the_hooks(self):
        """They are none until then, and a copy after."""
        config = SaveConfig({modes.TRAIN: SaveConfigMode(2)})
        before = config.to_json_dict()["EVAL"]
        hook = SaveConfig(save_interval=7)
        config.merge_default_save_config(hook)
        hook.save_interval = 9

        assert (None, 2, 7) == (
            before,
            config.get_save_config(modes.TRAIN).save_interval,
            config.get_save_config(modes.EVAL).save_interval,
        )

    def test_a_mode_left_out_is_not_there(self):
        """To ask for it is an error until it has the hook's."""
        with pytest.raises(SMDebugValueError, match="mode EVAL has the hook's"):
            SaveConfig({modes.TRAIN: SaveConfigMode(2)}).get_save_config(modes.EVAL)

    def test_the_callers_dict_is_left_alone(self):
        """It is read, not filled."""
        given = {modes.TRAIN: SaveConfigMode(2)}
        SaveConfig(given)

        assert [modes.TRAIN] == list(given)

    def test_a_setting_of_all_modes_at_once(self):
        """The idiom of the old docs changes every mode, also those that get the hook's later."""
        config = SaveConfig({modes.TRAIN: SaveConfigMode(2)})
        config.end_step = 4
        config.merge_default_save_config(SaveConfig(save_interval=3))

        assert ([0, 2], [0, 3]) == tuple(
            [step for step in range(9) if config.should_save_step(mode, step)]
            for mode in (modes.TRAIN, modes.EVAL)
        )

    def test_a_setting_that_differs_is_not_one(self):
        """To read it of all modes is an error that says how to ask."""
        config = SaveConfig({modes.TRAIN: SaveConfigMode(2), modes.EVAL: SaveConfigMode(3)})

        with pytest.raises(SMDebugValueError, match="save_interval differs between the modes"):
            _ = config.save_interval

    def test_json_and_back(self):
        """Modes left out stay left out."""
        config = SaveConfig({modes.TRAIN: SaveConfigMode(2, 1, 9, [4])})

        assert config == SaveConfig.from_json(config.to_json())

    @pytest.mark.parametrize(
        "form",
        [
            SaveConfig(save_interval=4),
            SaveConfigMode(4),
            {mode: SaveConfigMode(4) for mode in modes},
            {mode.name: {"save_interval": "4"} for mode in modes},
        ],
        ids=["config", "mode", "modes", "names"],
    )
    def test_it_is_made_of_any_of_its_forms(self, form):
        """A configuration, one for all modes, or a dict."""
        assert SaveConfig(save_interval=4) == SaveConfig.parse(form)

    def test_defaults_fill_what_a_dict_leaves_out(self):
        """As a hook of another rhythm does."""
        config = SaveConfig.from_dict({"TRAIN": {"end_step": 5}}, {"save_interval": 10})

        assert SaveConfigMode(10, 0, 5) == config.get_save_config(modes.TRAIN)

    @pytest.mark.parametrize("wrong", [3, "x", [SaveConfigMode()]])
    def test_anything_else_is_a_type_error(self, wrong):
        """The message says what is wanted."""
        with pytest.raises(SMDebugTypeError, match="save_config is a SaveConfig"):
            SaveConfig.parse(wrong)

    @pytest.mark.parametrize("wrong", [{"TRAIN": SaveConfigMode()}, {modes.TRAIN: 5}])
    def test_modes_map_to_their_configuration(self, wrong):
        """Neither names nor numbers are taken."""
        with pytest.raises(SMDebugValueError, match="maps modes to SaveConfigMode"):
            SaveConfig(wrong)

    def test_equal_is_what_saves_the_same(self):
        """A copy is equal; one changed is not."""
        config = SaveConfig(save_interval=2)
        other = copy.deepcopy(config)
        same = config == other
        other.end_step = 3

        assert (True, False) == (same, config == other)
