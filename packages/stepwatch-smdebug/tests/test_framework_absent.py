"""Packages of smdebug whose framework is not installed, as where old runs are read."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

import smdebug.tensorflow


def _unless_installed(package, framework, hook):
    installed = importlib.util.find_spec(framework) is not None
    skip = pytest.mark.skipif(installed, reason=f"{framework} is installed")
    return pytest.param(package, framework, hook, marks=skip, id=framework)


@pytest.mark.parametrize(
    ("package", "framework", "hook"),
    [
        _unless_installed("smdebug.mxnet", "mxnet", "Hook"),
        _unless_installed("smdebug.xgboost", "xgboost", "Hook"),
        _unless_installed("smdebug.tensorflow", "keras", "KerasHook"),
    ],
)
class TestAbsent:
    def test_a_hook_says_what_is_missing(self, package, framework, hook, tmp_path):
        """When it is made, not when its package is imported."""
        smd = importlib.import_module(package)
        with pytest.raises(ImportError, match=rf"{framework} is not installed.*is read"):
            getattr(smd, hook)(str(tmp_path))

    def test_a_hook_is_missed_only_where_one_is_configured(
        self, package, framework, hook, tmp_path, monkeypatch
    ):
        """Scripts ask for one wherever they run."""
        smd = importlib.import_module(package)
        arguments = ["keras"] if framework == "keras" else []
        monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
        assert smd.get_hook() is None

        (tmp_path / "hook.json").write_text("{}")
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
        with pytest.raises(ImportError, match=f"{framework} is not installed"):
            smd.get_hook(*arguments)


@pytest.mark.skipif(importlib.util.find_spec("keras") is not None, reason="keras is installed")
def test_no_hook_is_left_to_delete():
    """Scripts delete it anyway, at their end."""
    assert smdebug.tensorflow.del_hook() is None
