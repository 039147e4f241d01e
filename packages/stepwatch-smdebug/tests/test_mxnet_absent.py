"""smdebug.mxnet where MXNet is not installed, as where old runs are read."""

from __future__ import annotations

import importlib.util

import pytest

import smdebug.mxnet as smd

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mxnet") is not None, reason="MXNet is installed"
)


class TestAbsent:
    def test_a_hook_says_what_is_missing(self, tmp_path):
        """When it is made, not when it is imported."""
        with pytest.raises(ImportError, match=r"mxnet is not installed.*is read"):
            smd.Hook(str(tmp_path))

    def test_a_hook_is_missed_only_where_one_is_configured(self, tmp_path, monkeypatch):
        """Scripts ask for one wherever they run."""
        monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
        assert smd.get_hook() is None

        (tmp_path / "hook.json").write_text("{}")
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
        with pytest.raises(ImportError, match="mxnet is not installed"):
            smd.get_hook()
