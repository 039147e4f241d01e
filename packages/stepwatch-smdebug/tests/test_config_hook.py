"""The arguments of a hook and Stepwatch's hook configuration are two words for one thing."""

from __future__ import annotations

import json

import pytest

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.hook_config import from_hook_config, read_hook_arguments, to_hook_config
from smdebug.exceptions import InvalidCollectionConfiguration, SMDebugValueError
from stepwatch.formats.smdebug.collections import RAW, Reduction, SaveSteps, Stored
from stepwatch.model.steps import Mode
from stepwatch_smdebug.config.hook_config import read_hook_config


def collections(*more):
    """Return the collections that a PyTorch hook has, and some more."""
    manager = CollectionManager()
    manager.create_built_in("pytorch")
    return [*manager.get_collections().values(), *more]


def collection(config, name):
    """Return a collection of a hook configuration."""
    return next(one for one in config.collections if one.name == name)


class TestToHookConfig:
    def test_nothing_said_is_the_configuration_of_an_empty_file(self, tmp_path):
        """A hook without arguments and a file without settings do the same."""
        (tmp_path / "hook.json").write_text(json.dumps({"LocalPath": "/out"}))

        assert read_hook_config(tmp_path / "hook.json", {}) == to_hook_config("/out", collections())

    def test_arguments_and_a_file_say_the_same(self, tmp_path):
        """Whatever of both is used, the hook saves the same."""
        entries = [
            {"CollectionName": "weights", "CollectionParameters": {"reductions": "abs_max"}},
            {
                "CollectionName": "own",
                "CollectionParameters": {"include_regex": "relu", "eval.save_interval": "3"},
            },
        ]
        hook = {"save_interval": "2", "include_workers": "all", "save_all": "true"}
        document = {"LocalPath": "/out", "HookParameters": hook | {"include_regex": "fc"}}
        document |= {"CollectionConfigurations": entries}
        (tmp_path / "hook.json").write_text(json.dumps(document))
        known = collections(
            Collection("own", ["relu"], save_config={modes.EVAL: SaveConfigMode(3)})
        )
        known[2].reduction_config = ReductionConfig(abs_reductions=["max"])
        told = to_hook_config(
            "/out",
            known,
            ["weights", "own"],
            SaveConfig(save_interval=2),
            include_regex=["fc"],
            save_all=True,
            include_workers="all",
        )

        assert read_hook_config(tmp_path / "hook.json", {}) == told

    def test_a_mode_without_its_own_has_the_hooks(self):
        """Also if the hook's differs between the modes."""
        hook = SaveConfig({modes.TRAIN: SaveConfigMode(2), modes.EVAL: SaveConfigMode(3)})
        own = Collection("own", ["x"], save_config={modes.TRAIN: SaveConfigMode(5)})
        config = to_hook_config("/out", collections(own), save_config=hook)

        assert {
            Mode.TRAIN: SaveSteps(5),
            Mode.EVAL: SaveSteps(3),
            Mode.PREDICT: SaveSteps(500),
            Mode.GLOBAL: SaveSteps(500),
        } == collection(config, "own").steps

    def test_own_reductions_else_the_hooks_and_none_for_scalars(self):
        """Losses are stored as they are."""
        own = Collection("own", ["x"], reduction_config=ReductionConfig(["max"]))
        hook = ReductionConfig(["mean"], save_shape=True)
        config = to_hook_config("/out", collections(own), reduction_config=hook)

        assert [
            Stored(reductions=(Reduction("max"),)),
            Stored(False, (Reduction("mean"),), True),
            RAW,
        ] == [collection(config, name).stored for name in ("own", "weights", "losses")]

    def test_a_collection_switched_off_in_place_is_off(self):
        """``hook.get_collection("losses").save_config.end_step = 0``."""
        known = collections()
        next(one for one in known if one.name == "losses").save_config.end_step = 0
        config = to_hook_config("/out", known, save_config=SaveConfig(save_interval=1))

        assert not collection(config, "losses").is_due(Mode.TRAIN, 0)

    def test_included_are_names_and_collections_however_nested(self):
        """And what is always saved."""
        own = Collection("own", ["x"])
        config = to_hook_config("/out", collections(own), [["weights"], own, "biases"])

        assert {"weights", "own", "biases", "losses"} == config.included

    def test_a_name_that_is_no_collection_is_ignored(self):
        """As smdebug does."""
        config = to_hook_config("/out", collections(), ["weights", "outputs"])

        assert ["weights", "losses"] == [one.name for one in config.saved]

    def test_an_own_collection_that_can_hold_nothing_is_an_error(self):
        """Its name is a field."""
        with pytest.raises(InvalidCollectionConfiguration, match="'own' is not built in") as caught:
            to_hook_config("/out", collections(Collection("own")))
        assert caught.value.c_name == "own"

    def test_a_pattern_that_does_not_compile_is_a_value_error(self):
        """The collection is named."""
        with pytest.raises(SMDebugValueError, match=r"collection 'own': .* does not compile"):
            to_hook_config("/out", collections(Collection("own", ["("])))

    def test_nothing_given_is_changed(self):
        """What the script holds is as it was."""
        known = collections(Collection("own", ["x"]))
        before = [one.to_json() for one in known]
        to_hook_config("/out", known, include_regex="fc", save_all=True)

        assert before == [one.to_json() for one in known]

    def test_xgboost_saves_each_tenth_step(self):
        """The default is that of the framework."""
        config = to_hook_config("/out", [Collection("metrics", ["x"])], framework="xgboost")

        assert SaveSteps(10) == collection(config, "metrics").steps[Mode.TRAIN]


class TestFromHookConfig:
    def test_there_and_back(self):
        """The arguments say what the configuration says."""
        own = Collection("own", ["x"], save_config={modes.EVAL: SaveConfigMode(3)})
        config = to_hook_config(
            "/out",
            collections(own),
            ["own"],
            SaveConfigMode(4),
            ReductionConfig(["mean"], norms=["l2"]),
            save_all=True,
            include_workers="all",
            tensorboard_dir="/board",
            dry_run=True,
        )

        assert config == to_hook_config(**from_hook_config(config))

    def test_a_collection_that_comes_later_has_the_hooks_settings(self):
        """What the file says of the hook is kept for it."""
        arguments = from_hook_config(
            to_hook_config("/out", collections(), save_config=SaveConfig(save_interval=4))
        )
        arguments["collections"].append(Collection("late", ["x"]))
        config = to_hook_config(**arguments)

        assert SaveSteps(4) == collection(config, "late").steps[Mode.TRAIN]


class TestReadHookArguments:
    def test_a_collection_may_be_filled_by_the_script(self, tmp_path):
        """Without patterns it is an error only if it is still empty when it is used."""
        path = tmp_path / "hook.json"
        path.write_text(json.dumps({"CollectionConfigurations": [{"CollectionName": "own"}]}))
        arguments = read_hook_arguments(path)
        arguments["collections"][-1].include("relu")
        config = to_hook_config(**arguments)

        assert (("relu",), True) == (
            collection(config, "own").patterns,
            "own" in config.included,
        )

    def test_a_missing_file_is_not_found(self, tmp_path):
        """As smdebug says it."""
        with pytest.raises(FileNotFoundError):
            read_hook_arguments(tmp_path / "none.json")

    def test_a_wrong_value_is_a_value_error_of_smdebug(self, tmp_path):
        """Under the name that old code catches."""
        path = tmp_path / "hook.json"
        path.write_text(json.dumps({"HookParameters": {"save_interval": 0}}))

        with pytest.raises(SMDebugValueError, match="HookParameters: save_interval"):
            read_hook_arguments(path)
