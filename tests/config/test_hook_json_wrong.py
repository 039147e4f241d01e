"""What cannot be meant is an error of one line that names the key and whose it is."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwatch.config.json_settings import JsonSettings
from stepwatch.errors import ConfigError
from stepwatch_smdebug.config.frameworks import framework
from stepwatch_smdebug.config.hook_config import HookDocument
from tests.support.config.hook_files import entry, read, read_document

WRONG = [
    ("save_interval", "often", "must be a whole number, got 'often'"),
    ("save_interval", 1.5, "must be a whole number, got 1.5"),
    ("save_interval", True, "must be a whole number, got True"),
    ("save_interval", 0, "must be at least 1, got 0"),
    ("save_interval", "0", "must be at least 1, got 0"),
    ("save_interval", "-3", "must be at least 1, got -3"),
    ("start_step", "", "must be a whole number, got ''"),
    ("end_step", [5], r"must be a whole number, got \[5\]"),
    ("save_steps", "1,b", "must be a whole number, got '1,b'"),
    ("save_steps", [1, "b"], r"must be a whole number, got \[1, 'b'\]"),
    ("save_steps", [True], r"must be a whole number, got \[True\]"),
    ("start_step", -1, "must not be negative"),
    ("reductions", "mean,maen", r"no reduction 'maen'; did you mean mean"),
    ("reductions", "mean_norm", "no reduction 'mean_norm'"),
    ("reductions", [1], r"must be texts, got \[1\]"),
    ("save_shape", "maybe", "must be true or false, got 'maybe'"),
    ("save_raw_tensor", 2, "must be true or false, got 2"),
    ("include_regex", "(", r"'\(' does not compile"),
    ("save_histogram", "off", "must be true or false, got 'off'"),
]


class TestWrongSettings:
    @pytest.mark.parametrize(("key", "value", "reason"), WRONG)
    def test_of_a_collection(self, tmp_path, key, value, reason):
        """The message names the collection, the key and what is there."""
        with pytest.raises(ConfigError, match=rf"^collection 'weights': [^\n]*{reason}[^\n]*$"):
            read(tmp_path, {}, [entry("weights", **{key: value})])

    @pytest.mark.parametrize(("key", "value", "reason"), WRONG[:-3] + WRONG[-1:])
    def test_of_the_hook(self, tmp_path, key, value, reason):
        """The message names the hook's settings, the key and what is there."""
        with pytest.raises(ConfigError, match=rf"^HookParameters: [^\n]*{reason}[^\n]*$"):
            read(tmp_path, {key: value})

    @pytest.mark.parametrize("key", ["eval.save_interval", "global.save_interval"])
    def test_of_one_mode(self, tmp_path, key):
        """The key is named with its mode."""
        with pytest.raises(ConfigError, match=rf"HookParameters: {key} must be a whole number"):
            read(tmp_path, {key: "x"})

    @pytest.mark.parametrize("key", ["save_all", "export_tensorboard", "dry_run"])
    def test_flags_are_true_or_false(self, tmp_path, key):
        """No other word is taken."""
        with pytest.raises(ConfigError, match=f"HookParameters: {key} must be true or false"):
            read(tmp_path, {key: "yes please"})

    def test_nothing_is_ever_run(self, tmp_path):
        """A value that is Python is only a wrong text."""
        with pytest.raises(ConfigError, match=r"must be a whole number, got .__import__"):
            read(tmp_path, {"save_interval": "__import__('os').getpid()"})


class TestWrongShape:
    @pytest.mark.parametrize(
        ("document", "reason"),
        [
            ([], "must be a JSON object of settings"),
            ({"HookParameters": "x"}, "HookParameters must be a JSON object"),
            ({"CollectionConfigurations": {}}, "CollectionConfigurations must be a JSON list"),
            ({"CollectionConfigurations": ["x"]}, r"CollectionConfigurations\[0\] must be"),
            ({"CollectionConfigurations": [{}]}, r"\[0\]: CollectionName must be a text"),
            (
                {"CollectionConfigurations": [{"CollectionName": "a", "CollectionParameters": 3}]},
                "collection 'a' must be a JSON object",
            ),
            ({"LocalPath": 3}, "LocalPath must be a text, got 3"),
        ],
    )
    def test_is_said(self, tmp_path, document, reason):
        """Whatever is at the wrong place, one line says what should be there."""
        with pytest.raises(ConfigError, match=reason):
            read_document(tmp_path, document)

    def test_an_own_collection_needs_patterns(self, tmp_path):
        """It could hold no tensor; the name of a built-in one is suggested."""
        with pytest.raises(ConfigError, match=r"'weight' is none .* did you mean weights\?"):
            read(tmp_path, {}, [entry("weight")])

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "HookParameters",
                            "CollectionConfigurations",
                            "CollectionName",
                            "CollectionParameters",
                            "LocalPath",
                            "save_interval",
                            "train.save_steps",
                            "reductions",
                            "include_regex",
                            "save_all",
                        ]
                    ),
                    inner,
                    max_size=4,
                )
            ),
        )
    )
    def test_any_document_is_read_or_is_a_config_error(self, document):
        """No document brings another exception, and none a message of two lines."""
        told = ""
        try:
            top = JsonSettings(document, "hook configuration")
            HookDocument(top, framework("pytorch"), 500).config(None)
        except ConfigError as error:
            told = str(error)

        assert "\n" not in told


class TestUnknownKeys:
    @pytest.mark.parametrize(
        ("hook", "own", "text"),
        [
            (
                {"save_intervall": 1},
                {},
                "HookParameters: 'save_intervall' is no setting and does nothing; "
                "did you mean save_interval?",
            ),
            (
                {"training.save_interval": 1},
                {},
                "HookParameters: 'training.save_interval' is no setting and does nothing; "
                "did you mean train.save_interval?",
            ),
            (
                {},
                {"save_all": "true"},
                "collection 'weights': 'save_all' is no setting and does nothing; "
                "it belongs into HookParameters",
            ),
        ],
    )
    def test_each_is_warned_of_once_with_the_nearest(self, tmp_path, caplog, hook, own, text):
        """The key, whose it is, and what was probably meant."""
        read(tmp_path, hook, [entry("weights", **own)])

        assert [("stepwatch", text)] == [
            (record.name, record.getMessage()) for record in caplog.records
        ]

    def test_at_the_top_too(self, tmp_path, caplog):
        """A setting at the wrong level is told where it belongs."""
        read_document(tmp_path, {"save_interval": "5", "Localpath": "/x"})

        assert [
            "'save_interval' is no setting and does nothing; it belongs into HookParameters",
            "'Localpath' is no setting and does nothing; did you mean LocalPath?",
        ] == [record.getMessage().partition(": ")[2] for record in caplog.records]

    def test_an_empty_pattern_is_warned_of_and_not_everything(self, tmp_path, caplog):
        """A comma too much does not save every tensor."""
        config = read(tmp_path, {"include_regex": "a,"})
        default = next(one for one in config.collections if one.name == "default")

        assert (("a",), []) == (default.patterns, caplog.records)
