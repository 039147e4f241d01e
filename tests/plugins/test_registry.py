"""Look-up of plug-ins, in the entry points that are really installed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from stepwatch.errors import ConfigError, MissingDependency
from stepwatch.plugins import registry

PROJECT = (Path(__file__).parents[2] / "pyproject.toml").read_text()
# Python 3.10 has no tomllib.
DECLARED = {
    group: re.findall(r"^(\w+) = ", lines, re.MULTILINE)
    for group, lines in re.findall(
        r'^\[project\.entry-points\."(.+?)"\]\n([^\[]*)', PROJECT, re.MULTILINE
    )
}


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """A function that installs a package with entry points, for the time of the test."""

    def install(package, entry_points, source=""):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (tmp_path / f"{package}.py").write_text(source)
        registry.forget()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    registry.forget()


class TestOurOwn:
    """What pyproject.toml declares is found on the path that everybody takes."""

    @pytest.mark.parametrize("group", sorted(DECLARED))
    def test_every_declared_name_is_there(self, group):
        """The installed metadata and pyproject.toml agree; reinstall if this fails."""
        assert set(DECLARED[group]) <= set(registry.names(group))
        assert list(registry.names(group)) == sorted(registry.names(group))

    @pytest.mark.parametrize("name", sorted(DECLARED["stepwatch.rules"]))
    def test_every_rule_loads_under_its_own_name(self, name):
        """The class behind the name calls itself by it."""
        assert registry.load("stepwatch.rules", name).name == name

    @pytest.mark.parametrize(
        "spelling", ["VanishingGradient", "vanishing_gradient", "VANISHING-GRADIENT"]
    )
    def test_spellings_are_one_name(self, spelling):
        """CamelCase, snake_case and capitals lead to the same rule."""
        expected = import_module("stepwatch.rules.gradients").VanishingGradient

        assert registry.load("stepwatch.rules", spelling) is expected

    def test_a_wrong_name_is_answered_with_the_right_ones(self):
        """The message has what was asked and what was probably meant, not all that there is."""
        with pytest.raises(ConfigError) as caught:
            registry.load("stepwatch.rules", "VanishingGradent")

        message = str(caught.value)
        assert "no rule is named 'VanishingGradent'; did you mean vanishing_gradient?" == message

    def test_a_wrong_group_is_answered_with_the_right_ones(self):
        """A group nobody reads is a mistake of the caller."""
        with pytest.raises(ConfigError, match=r"no plug-in group 'rules'.*stepwatch\.rules"):
            registry.names("rules")

    def test_importing_reads_no_metadata(self):
        """A look-up reads the metadata; the import alone does not."""
        script = (
            "import importlib.metadata as metadata\n"
            "metadata.entry_points = None\n"
            "import stepwatch.plugins.registry\n"
        )
        subprocess.run([sys.executable, "-c", script], check=True)


class TestPlugIns:
    """Packages of others."""

    def test_a_plug_in_is_found_and_loaded(self, plug_in):
        """Its name stands among ours."""
        plug_in("others", "[stepwatch.rules]\nnose = others:Nose\n", "class Nose: name = 'nose'")

        assert "nose" in registry.names("stepwatch.rules")
        assert registry.load("stepwatch.rules", "Nose").name == "nose"

    def test_a_failed_import_names_the_entry_point(self, plug_in):
        """Who reads the message knows which package to repair, and why."""
        plug_in("broken", "[stepwatch.rules]\nbent = broken:Bent\n", "import no_such_module_here")
        with pytest.raises(MissingDependency) as caught:
            registry.load("stepwatch.rules", "bent")

        assert str(caught.value) == (
            "the rule 'bent' of broken (broken:Bent) cannot be loaded: "
            "No module named 'no_such_module_here'"
        )

    def test_a_missing_attribute_names_the_entry_point(self, plug_in):
        """A package that does not hold what it declares is told so."""
        plug_in("empty", "[stepwatch.actions]\nhum = empty:hum\n")
        with pytest.raises(ConfigError, match=r"the action 'hum' of empty \(empty:hum\)"):
            registry.load("stepwatch.actions", "hum")

    def test_two_claims_to_one_name_are_an_error(self, plug_in):
        """Which of two packages is used is never left to the order of the path."""
        plug_in("one", "[stepwatch.rules]\nmine_too = one:Rule\n")
        plug_in("two", "[stepwatch.rules]\nMineToo = two:Rule\n")
        with pytest.raises(ConfigError, match=r"claimed by .*one \(one:Rule\)") as caught:
            registry.load("stepwatch.rules", "mine_too")

        assert "two (two:Rule)" in str(caught.value)

    def test_a_broken_plug_in_does_not_hide_the_others(self, plug_in):
        """Names are listed without importing anything."""
        plug_in("bad", "[stepwatch.rules]\nbad = bad:Bad\n", "raise RuntimeError")

        assert "bad" in registry.names("stepwatch.rules")
