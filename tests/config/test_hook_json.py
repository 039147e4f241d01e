"""A hook configuration says what it says, in every way that it can be written."""

from __future__ import annotations

import json

import pytest

from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import Reduction
from stepwatch.model.steps import Mode
from stepwatch_smdebug.config.hook_config import find_hook_config, read_hook_config
from tests.support.config.hook_files import collection, entry, read, read_document, saved_steps

RELU = entry(
    "custom_relu_collection",
    include_regex="relu",
    save_interval="20",
    start_step="5",
    end_step="100",
)


class TestExamplesOfThePublicDocs:
    def test_relu_every_20_from_5_to_100(self, tmp_path):
        """The rhythm counts from step 0, the window begins at 5 and ends before 100."""
        config = read(tmp_path, collections=[RELU])

        assert [20, 40, 60, 80] == saved_steps(config, "custom_relu_collection")

    def test_a_placeholder_as_key_does_nothing(self, tmp_path, caplog):
        """A sample pasted as it is works; each placeholder is warned of once."""
        pasted = {"CollectionName": "weights", "CollectionParameters": {"key1": "value1"}}
        read(tmp_path, {"key": "value"}, [pasted])

        assert [
            "HookParameters: 'key' is no setting and does nothing",
            "collection 'weights': 'key1' is no setting and does nothing",
        ] == [record.getMessage() for record in caplog.records]

    def test_a_request_of_the_job_layer_is_read(self, tmp_path):
        """What a training job is created with is a hook configuration."""
        request = {
            "S3OutputPath": "s3://bkt/out",
            "LocalPath": "/opt/ml/output/tensors",
            "HookParameters": {"save_interval": "100"},
            "CollectionConfigurations": [entry("gradients", save_interval="500")],
        }
        config = read_document(tmp_path, request)

        assert ([0, 500, 1000], [0, 100, 200]) == (
            saved_steps(config, "gradients"),
            saved_steps(config, "losses", below=201),
        )

    def test_the_file_of_a_full_hook_is_read(self, tmp_path):
        """Numbers, texts and modes mix."""
        hook = {
            "export_tensorboard": True,
            "tensorboard_dir": "/tmp/tensorboard",
            "save_all": False,
            "include_regex": "regexe1,regex2",
            "save_interval": 100,
            "save_steps": "1,2,3,4",
            "start_step": 1,
            "reductions": "min,max,mean,std,abs_variance,abs_sum,abs_l2_norm",
        }
        own = {
            "include_regex": "regexe6*",
            "train.save_interval": 100,
            "eval.save_interval": 1,
            "save_steps": "1,2,3",
            "start_step": 1,
            "reductions": "min,abs_max,l1_norm,abs_l2_norm",
        }
        entries = [{"CollectionName": "own", "CollectionParameters": own}]
        config = read(tmp_path, hook, entries)
        of_own = collection(config, "own")

        assert ([1, 2, 3, 100], [1, 2, 3, 4], ["min", "l1_norm", "abs_max", "abs_l2_norm"]) == (
            saved_steps(config, "own", below=101),
            saved_steps(config, "own", Mode.EVAL, below=5),
            [one.text for one in of_own.stored.reductions],
        )


class TestWhereItLies:
    def test_the_path_that_is_given_counts_most(self, tmp_path):
        """A path stands before the variable."""
        given, other = tmp_path / "given.json", tmp_path / "other.json"
        given.write_text('{"LocalPath": "/given"}')
        other.write_text('{"LocalPath": "/other"}')

        config = read_hook_config(given, {"SMDEBUG_CONFIG_FILE_PATH": str(other)})

        assert config.run == "/given"

    def test_the_variable_names_it(self, tmp_path):
        """Without a path the variable counts."""
        path = tmp_path / "hook.json"
        path.write_text('{"LocalPath": "/named"}')

        assert read_hook_config(None, {"SMDEBUG_CONFIG_FILE_PATH": str(path)}).run == "/named"

    def test_a_missing_file_is_a_file_not_found_error_of_one_line(self, tmp_path):
        """Who looks for a file that is not there learns which, and what to do."""
        with pytest.raises(
            FileNotFoundError, match=r"^no hook configuration at .*none\.json; give"
        ):
            read_hook_config(tmp_path / "none.json", {})

    def test_without_anything_sagemakers_place_is_meant(self):
        """The last place to look is SageMaker's."""
        with pytest.raises(FileNotFoundError, match="/opt/ml/input/config/debughookconfig"):
            read_hook_config(None, {})

    def test_what_is_no_json_is_said(self, tmp_path):
        """A file that cannot be read is an error of the configuration."""
        path = tmp_path / "hook.json"
        path.write_text('{"LocalPath": ')

        with pytest.raises(ConfigError, match="json is no JSON: Expecting value"):
            read_hook_config(path, {})

    def test_it_is_found_by_the_variable_if_there_is_such_a_file(self, tmp_path):
        """A variable that names no file finds nothing."""
        path = tmp_path / "hook.json"
        named = {"SMDEBUG_CONFIG_FILE_PATH": str(path)}
        before = find_hook_config(named)
        path.write_text("{}")

        assert (None, str(path), None) == (before, find_hook_config(named), find_hook_config({}))


class TestTheRest:
    def test_nothing_said_saves_losses_every_500_steps_in_full(self, tmp_path):
        """An empty file is the default configuration."""
        config = read_document(tmp_path, {})
        losses = collection(config, "losses")

        assert (frozenset({"losses"}), [0, 500, 1000], True, "/opt/ml/output/tensors") == (
            config.included,
            saved_steps(config, "losses"),
            losses.stored.raw,
            config.run,
        )

    def test_null_is_nothing(self, tmp_path):
        """Null for the settings, the collections or those of one collection is as if left out."""
        entries = [
            {"CollectionName": "biases", "CollectionParameters": None},
            {"CollectionName": "weights"},
        ]
        config = read(tmp_path, None, entries)

        assert {"biases", "weights", "losses"} == config.included

    def test_named_collections_are_saved_besides_the_default(self, tmp_path):
        """A name in CollectionConfigurations is saved."""
        config = read(tmp_path, {}, [entry("gradients")])

        assert ["gradients", "losses"] == sorted(one.name for one in config.saved)

    @pytest.mark.parametrize("value", [True, "true", "True", 1])
    def test_save_all_saves_every_collection_and_every_tensor(self, tmp_path, value):
        """The collection of everything has a pattern for everything."""
        config = read(tmp_path, {"save_all": value})

        assert (True, len(config.collections)) == (
            collection(config, "all").holds("anything"),
            len(config.saved),
        )

    @pytest.mark.parametrize("value", ["a.*, b{2}", ["a.*", "b{2}"]])
    def test_include_regex_fills_the_default_collection(self, tmp_path, value):
        """Its patterns are those of ``default``, which is then saved."""
        config = read(tmp_path, {"include_regex": value})

        assert (("a.*", "b{2}"), True) == (
            collection(config, "default").patterns,
            "default" in config.included,
        )

    def test_a_list_of_patterns_may_hold_commas(self, tmp_path):
        """Only a text is split."""
        config = read(tmp_path, {}, [entry("own", include_regex=["a{1,2}"])])

        assert ("a{1,2}",) == collection(config, "own").patterns

    def test_patterns_of_a_built_in_collection_are_added_to(self, tmp_path):
        """Its own patterns stay."""
        config = read(tmp_path, {}, [entry("losses", include_regex="penalty")])

        assert ("[Ll]oss_(?!input).*output", "penalty") == collection(config, "losses").patterns

    @pytest.mark.parametrize(("value", "every"), [("all", True), ("one", False), ("two", False)])
    def test_only_all_means_all_workers(self, tmp_path, value, every):
        """Whatever else is said, the first process writes."""
        assert every == read(tmp_path, {"include_workers": value}).all_workers

    @pytest.mark.parametrize(("value", "dry"), [("true", True), (False, False)])
    def test_a_dry_run_is_dry(self, tmp_path, value, dry):
        """``dry_run`` is read from the file."""
        assert dry == read(tmp_path, {"dry_run": value}).dry_run

    @pytest.mark.parametrize("order", [1, -1], ids=["first", "last"])
    def test_a_collection_named_twice_is_saved_as_any_of_both_asks(self, tmp_path, order):
        """In whatever order: clients send those of a user and those of rules as a set."""
        twice = [
            entry("own", include_regex="a", save_interval="2"),
            entry("own", include_regex="b", save_interval="3", end_step="5", reductions="mean"),
        ][::order]
        found = collection(read(tmp_path, {}, twice), "own")

        assert {"a", "b"} == set(found.patterns)
        assert [0, 2, 3, 4, 6, 8] == [n for n in range(10) if found.steps[Mode.TRAIN].wants(n)]
        assert (Reduction("mean"),) == found.stored.reductions

    def test_a_collection_named_twice_has_the_interval_of_the_hook_where_one_says_none(
        self, tmp_path
    ):
        """That of a rule, every 500 steps, takes nothing from it."""
        twice = [entry("losses"), entry("losses", save_interval="500")]
        config = read(tmp_path, {"save_interval": "5"}, twice)

        assert [0, 5, 10] == saved_steps(config, "losses")[:3]

    def test_histograms_of_a_collection_can_be_left_out(self, tmp_path):
        """The hook's word counts unless the collection has its own; scalars have none."""
        entries = [entry("weights", save_histogram="true"), entry("biases")]
        config = read(tmp_path, {"save_histogram": "False"}, entries)

        assert [True, False, False] == [
            collection(config, name).histogram for name in ("weights", "biases", "losses")
        ]

    def test_median_is_a_reduction(self, tmp_path):
        """What the public docs promise works."""
        config = read(tmp_path, {"reductions": "median, abs_median"}, [entry("weights")])

        assert (Reduction("median"), Reduction("median", of_abs=True)) == collection(
            config, "weights"
        ).stored.reductions

    def test_a_configuration_says_the_same_when_read_again(self, tmp_path):
        """Collections keep their order: those built in, then as they are named."""
        path = tmp_path / "hook.json"
        entries = [entry(name, include_regex=name) for name in ("b", "a", "c")]
        path.write_text(json.dumps({"CollectionConfigurations": entries}))
        config = read_hook_config(path, {})

        assert ["b", "a", "c"] == [one.name for one in config.collections][-3:]


class TestFrameworks:
    def test_xgboost_saves_each_tenth_step_also_of_collections_that_do_not_say(self, tmp_path):
        """The default of a framework is that of its collections."""
        config = read(tmp_path, {}, [entry("trees")], kind="xgboost")

        assert ([0, 10, 20], [0, 10, 20]) == (
            saved_steps(config, "trees", below=21),
            saved_steps(config, "metrics", below=21),
        )

    def test_the_caller_may_have_another_default(self, tmp_path):
        """``default_interval`` stands for what the file does not say."""
        config = read(tmp_path, {}, [entry("weights")], default_interval=7)

        assert [0, 7, 14] == saved_steps(config, "weights", below=15)

    @pytest.mark.parametrize(
        ("kind", "included"),
        [
            ("pytorch", {"losses"}),
            ("mxnet", {"losses"}),
            ("tensorflow", {"losses", "metrics", "sm_metrics"}),
            ("xgboost", {"metrics"}),
        ],
    )
    def test_each_saves_its_own_by_default(self, tmp_path, kind, included):
        """What is saved without being asked for."""
        assert included == read(tmp_path, kind=kind).included

    def test_an_unknown_framework_is_said(self, tmp_path):
        """A name that is none is an error that tells those there are."""
        with pytest.raises(ConfigError, match=r"no framework 'torch'; did you mean pytorch\?"):
            read(tmp_path, kind="torch")
