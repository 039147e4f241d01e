"""Scripts to run, and the command to run them.

Test modules name this one in ``pytest_plugins``: a second ``conftest.py`` would be in the way of
the first where doctests are collected.
"""

from __future__ import annotations

import sys

import pytest
from commands import STEPWATCH, TRAINING, call


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a script, with ``train`` at hand, and returns its path."""

    def write_script(text, name="script.py", training=True):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((TRAINING if training else "") + text)
        return path

    return write_script


@pytest.fixture
def stepwatch(tmp_path):
    """Return a function that runs the command in a folder of its own."""
    return lambda *arguments, **options: call(STEPWATCH, *arguments, cwd=tmp_path, **options)


@pytest.fixture
def python(tmp_path):
    """Return a function that runs Python in that folder."""
    return lambda *arguments, **options: call(sys.executable, *arguments, cwd=tmp_path, **options)


@pytest.fixture(scope="session")
def spoiled(tmp_path_factory):
    """A run whose data become nan in step 5, its script's plain output, and its folder."""
    folder = tmp_path_factory.mktemp("spoiled")
    (folder / "train.py").write_text(TRAINING + "train(8, spoiled=5)\n")
    plain = call(sys.executable, "train.py", cwd=folder)
    arguments = ("--run", "run", "--save", "gradients:raw:every=3", "train.py")
    watched = call(STEPWATCH, "run", *arguments, cwd=folder)
    return folder, plain, watched
