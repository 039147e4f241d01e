"""Optional packages are imported late, and their absence is told with the way out."""

from __future__ import annotations

import pytest

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
