"""What a hook configuration means for each framework."""

from __future__ import annotations

import json

import pytest

from stepwatch.errors import ConfigError
from stepwatch_smdebug.config.hook_config import config_warnings, read_hook_configs
from tests.support.config.hook_files import entry, read


def write(folder, *collections, **hook):
    """Write a hook configuration; return where it lies."""
    path = folder / "hook.json"
    path.write_text(
        json.dumps({"HookParameters": hook, "CollectionConfigurations": list(collections)})
    )
    return path


class TestReadHookConfigs:
    def test_each_framework_has_its_own_collections_and_rhythm(self, tmp_path):
        """As if it had been read for that framework alone."""
        collections = [entry("losses", include_regex="mine"), entry("own", include_regex="own")]
        found = read_hook_configs(["pytorch", "xgboost"], write(tmp_path, *collections))

        assert {
            kind: read(tmp_path, {}, collections, kind=kind) for kind in ("pytorch", "xgboost")
        } == found

    def test_what_does_nothing_for_one_is_said_and_no_error(self, tmp_path):
        """``metrics`` is built in for TensorFlow, and for PyTorch a name without patterns."""
        found = read_hook_configs(["pytorch", "tensorflow"], write(tmp_path, entry("metrics")))
        (line,) = config_warnings(found["pytorch"], "pytorch")

        assert "'metrics' is none of those built in for pytorch" in line
        assert [] == config_warnings(found["tensorflow"], "tensorflow")
        assert "metrics" in found["tensorflow"].included

    def test_what_cannot_be_meant_is_an_error(self, tmp_path):
        """Before anything is trained."""
        path = write(tmp_path, save_interval="often")
        with pytest.raises(ConfigError, match="save_interval"):
            read_hook_configs(["pytorch", "mxnet"], path)

    def test_what_it_warns_of_is_said_once(self, tmp_path, caplog):
        """However many frameworks there are; and again when it is read again."""
        path = write(tmp_path, save_intervall=3)
        for _ in range(2):
            read_hook_configs(["pytorch", "mxnet", "xgboost"], path)

        assert 2 == len([one for one in caplog.messages if "save_intervall" in one])
