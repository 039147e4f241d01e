"""Whoever calls the real smdebug calls ours: the same names in the same order and defaults."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.treaty.real_smdebug import ask

ROOT = Path(__file__).parents[2]
# Returns the signatures of all public classes, methods and functions that can be imported.
_SIGNATURES = """
import importlib, inspect, json, pathlib, smdebug
KINDS = inspect.Parameter

def default_of(parameter):
    if parameter.default is KINDS.empty:
        return None
    default = parameter.default
    return repr(list(default) if isinstance(default, tuple) else default)

def signature(one):
    try:
        parameters = inspect.signature(one).parameters.values()
    except (TypeError, ValueError):  # of an exception that has no constructor of its own
        return []
    return [[one.name, one.kind.name, default_of(one)] for one in parameters]

def members(kind):
    for name, found in vars(kind).items():
        if isinstance(found, (staticmethod, classmethod)):
            found = getattr(kind, name)
        if not name.startswith("_") and inspect.isroutine(found):
            # what other packages bring along, such as protobuf, is theirs
            if getattr(found, "__module__", None) == kind.__module__:
                yield name, signature(found)

def signatures():
    root, found = pathlib.Path(smdebug.__file__).parent, {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(["smdebug", *path.relative_to(root).with_suffix("").parts])
        try:
            space = vars(importlib.import_module(module.removesuffix(".__init__")))
        except Exception:  # a framework that is not here
            continue
        for name, one in space.items():
            if getattr(one, "__module__", "") == module and not name.startswith("_"):
                if inspect.isclass(one) or inspect.isfunction(one):
                    found[f"{module}.{name}"] = signature(one)
                if inspect.isclass(one):
                    found |= {f"{module}.{name}.{key}": how for key, how in members(one)}
    return found
"""
#: Asks for what is at names that may be those of another module here.
_ASKED = """
def at(names):
    found = {}
    for name in names:
        for cut in range(name.count("."), 0, -1):
            parts = name.split(".")
            try:
                one = importlib.import_module(".".join(parts[:cut]))
                for part in parts[cut:]:
                    one = getattr(one, part)
            except (ImportError, AttributeError):
                continue
            if callable(one):
                found[name] = signature(one)
            break
    return found
"""
_MANY = {"VAR_POSITIONAL", "VAR_KEYWORD"}


def refuses(real: list[Any], ours: list[Any]) -> str:
    """Return what a call that the real one takes may have that ours does not; empty for nothing."""
    takes_any = {kind for _, kind, _ in ours}
    named = {name: (kind, default) for name, kind, default in ours}
    positions = [name for name, kind, _ in ours if kind.startswith("POSITIONAL")]
    wanted = [one for one in real if one[1] not in _MANY]
    for position, (name, kind, default) in enumerate(wanted):
        by_name = name.startswith("_") or name in named or "VAR_KEYWORD" in takes_any
        if not by_name:
            return f"no {name}"
        if kind == "POSITIONAL_OR_KEYWORD" and "VAR_POSITIONAL" not in takes_any:
            at = positions[position : position + 1]
            if at != [name] and not (name.startswith("_") and at):
                return f"{name} is not argument {position}"
        if default is not None and name in named and named[name][1] is None:
            return f"{name} has no default"
        if default is not None and name in named and named[name][1] != default:
            return f"{name} is {named[name][1]} by default"
    more = [name for name, kind, default in ours if kind not in _MANY and default is None]
    return ", ".join(f"{name} is needed" for name in more[len(wanted) :])


def listed(heading: str) -> set[str]:
    """Return the names that an entry of the documentation lists, with the module smdebug."""
    text = (ROOT / "docs/smdebug.md").read_text().partition(f"- **{heading}**")[2]
    entry = re.split(r"\n(?:- \*\*|## )", text)[0]
    return {f"smdebug.{name}" for name in re.findall(r"`((?:[a-z0-9_]+\.)+[\w.]+)`", entry)}


@pytest.fixture(scope="module")
def compared() -> tuple[set[str], dict[str, str]]:
    """Which members our classes lack, and what our signatures refuse, by name in the real one."""
    space: dict[str, Any] = {}
    exec(_SIGNATURES + _ASKED, space)
    real = ask(_SIGNATURES + "\nprint(json.dumps(signatures()))")
    ours = json.loads(json.dumps(space["at"](real)))
    # a class that is there, but only to say that it cannot be had, has no methods
    classes = {name for name in ours if not name.endswith("S3NumpySystemMetricsReader")}
    absent = {name for name in real if name not in ours and name.rpartition(".")[0] in classes}
    refused = {name: refuses(real[name], ours[name]) for name in real if name in ours}

    assert len(refused) > 300, len(refused)
    return absent, {name: why for name, why in refused.items() if why}


@pytest.mark.treaty
class TestSignatures:
    def test_each_call_of_the_real_one_is_taken_or_the_docs_say_that_it_is_not(self, compared):
        """By position and by name, and what is left out is the same."""
        _, refused = compared
        said = listed("Other arguments")

        assert {} == {name: why for name, why in refused.items() if name not in said}
        assert set() == said - set(refused)

    def test_classes_have_each_method_of_the_real_ones_or_the_docs_say_which_not(self, compared):
        absent, _ = compared
        said = listed("Methods by which its parts call each other")

        assert set() == absent - said
        assert set() == said - absent


#: Prints the collections of a framework's hook, and those that a file brings.
_COLLECTIONS = """
import importlib, json
def collections(module):
    kind = importlib.import_module(module).CollectionManager
    here = {name: sorted(one.include_regex) for name, one in kind().get_collections().items()}
    return [here, sorted(kind(create_default=False).get_collections())]
"""


@pytest.mark.treaty
def test_what_a_hook_brings_along_is_there_unless_it_is_not_wanted():
    """Collections that are built in, with what belongs to them."""
    space: dict[str, Any] = {}
    exec(_COLLECTIONS, space)
    module = "smdebug.pytorch.collection"
    real = ask(f"{_COLLECTIONS}\nprint(json.dumps(collections({module!r})))")

    assert real == json.loads(json.dumps(space["collections"](module)))
    assert "losses" in real[0]
