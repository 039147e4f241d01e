"""Optional packages are imported late, and their absence is told with the way out."""

from __future__ import annotations

import sys

import pytest

import stepwatch
from stepwatch.errors import MissingDependency
from stepwatch.plugins.registry import require


class TestRequire:
    def test_missing_package_is_told_with_its_extra(self):
        """The message holds the command to run."""
        with pytest.raises(MissingDependency, match=r"pip install 'stepwatch\[plots\]'"):
            require("no_such_package_here.part", extra="plots")

    def test_broken_package_is_not_called_missing(self, tmp_path, monkeypatch):
        """A package that fails on an import of its own is installed, and its error stays."""
        (tmp_path / "broken_package.py").write_text("import what_it_needs\n")
        monkeypatch.syspath_prepend(tmp_path)

        with pytest.raises(ModuleNotFoundError, match="what_it_needs"):
            require("broken_package", extra="plots")


class TestPublicNames:
    def test_a_name_that_needs_a_missing_package_says_what_to_install_and_no_more(
        self, monkeypatch
    ):
        """A notebook shows one line; elsewhere the frames of imports are left out."""
        monkeypatch.setitem(sys.modules, "anywidget", None)
        monkeypatch.delitem(sys.modules, "stepwatch.cli.live_view", raising=False)
        monkeypatch.delitem(vars(stepwatch), "LiveView", raising=False)
        with pytest.raises(MissingDependency) as raised:
            stepwatch.LiveView  # noqa: B018
        line = "anywidget is not installed; run: pip install 'stepwatch[notebook]'"

        assert [f"MissingDependency: {line}"] == raised.value._render_traceback_()
        assert 2 == len(raised.traceback)
