"""smdebug.xgboost where XGBoost is not installed, as where old runs are read."""

from __future__ import annotations

import importlib.util

import pytest

import smdebug.xgboost as smd

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("xgboost") is not None, reason="XGBoost is installed"
)


class TestAbsent:
    def test_a_hook_says_what_is_missing(self, tmp_path):
        """When it is made, not when it is imported."""
        with pytest.raises(ImportError, match=r"xgboost is not installed.*is read"):
            smd.Hook(str(tmp_path))

    def test_a_hook_is_missed_only_where_one_is_configured(self, tmp_path, monkeypatch):
        """Scripts ask for one wherever they run."""
        monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
        assert smd.get_hook() is None

        (tmp_path / "hook.json").write_text("{}")
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
        with pytest.raises(ImportError, match="xgboost is not installed"):
            smd.get_hook()
