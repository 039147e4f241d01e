"""Being called when a module was imported."""

from __future__ import annotations

import gc
import importlib
import sys
from contextlib import suppress
from importlib.machinery import PathFinder

import pytest

from stepwatch.runtime.imports import OnImport


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A folder with two modules, on the path of this process."""
    for name in ("first_of_two", "second_of_two"):
        (tmp_path / f"{name}.py").write_text("")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()


class Greedy:
    """A finder that finds one module by itself and asks nobody else, as some trackers put first."""

    def find_spec(self, name, path=None, target=None):
        return PathFinder.find_spec(name, path, target) if name == "second_of_two" else None


@pytest.mark.usefixtures("modules")
class TestOnImport:
    def test_is_called_once_the_module_was_imported(self):
        called = []
        OnImport("second_of_two", lambda: called.append("second_of_two" in sys.modules))

        importlib.import_module("first_of_two")
        assert [] == called
        importlib.import_module("second_of_two")
        assert [True] == called

    def test_is_called_though_a_finder_that_asks_nobody_was_put_before_it(self):
        """Whatever was imported in between has brought it back to the front."""
        called = []
        OnImport("second_of_two", lambda: called.append("second"))
        sys.meta_path.insert(0, Greedy())

        importlib.import_module("first_of_two")
        importlib.import_module("second_of_two")

        assert ["second"] == called

    @pytest.mark.parametrize("enabled", [True, False])
    @pytest.mark.parametrize("code", ["", "raise ValueError"])
    def test_no_garbage_is_looked_for_meanwhile(self, tmp_path, enabled, code):
        """Afterwards it is as it was."""
        (tmp_path / "second_of_two.py").write_text(f"import gc\nseen = gc.isenabled()\n{code}\n")
        seen = []
        waiting = OnImport("second_of_two", lambda: seen.append(gc.isenabled()))
        gc.unfreeze()  # what others froze
        (gc.enable if enabled else gc.disable)()
        try:
            with suppress(ValueError):
                assert not importlib.import_module("second_of_two").seen
            assert (enabled, 0) == (gc.isenabled(), gc.get_freeze_count())
        finally:
            gc.enable()
            waiting.remove()

        assert [False] * (not code) == seen

    def test_callbacks_share_one_finder_and_remove_it_at_the_end(self):
        called, before = [], list(sys.meta_path)
        names = ["first_of_two", "second_of_two", "second_of_two"]
        waiting = [OnImport(name, lambda name=name: called.append(name)) for name in names]
        assert len(before) + 1 == len(sys.meta_path)

        importlib.import_module("second_of_two")
        assert ["second_of_two"] * 2 == called
        waiting[0].remove()
        assert before == sys.meta_path
