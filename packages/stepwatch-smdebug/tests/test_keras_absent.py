"""smdebug.tensorflow where Keras is not installed, as where old runs are read."""

from __future__ import annotations

import importlib.util

import pytest

import smdebug.tensorflow as smd

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("keras") is not None, reason="Keras is installed"
)


class TestAbsent:
    def test_a_hook_says_what_is_missing(self, tmp_path):
        """When it is made, not when it is imported."""
        with pytest.raises(ImportError, match=r"keras is not installed.*is read"):
            smd.KerasHook(str(tmp_path))

    def test_a_hook_is_missed_only_where_one_is_configured(self, tmp_path, monkeypatch):
        """Scripts ask for one wherever they run."""
        monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
        assert smd.get_hook() is None

        (tmp_path / "hook.json").write_text("{}")
        monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
        with pytest.raises(ImportError, match="keras is not installed"):
            smd.get_hook("keras")

    def test_no_hook_is_left_to_delete(self):
        """Scripts do it anyway, at their end."""
        assert smd.del_hook() is None
