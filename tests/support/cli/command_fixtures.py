"""Scripts to run, and the command to run them.""" ""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import pytest

from stepwatch.cli.main import main
from tests.support.cli.commands import STEPWATCH, TRAINING, call


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


@pytest.fixture
def new_stepwatch(stepwatch):
    """Return a function that runs the command there, in a new interpreter."""
    return partial(stepwatch, start=subprocess.run)


@pytest.fixture
def new_python(python):
    """Return a function that runs Python there, in a new interpreter."""
    return partial(python, start=subprocess.run)


@pytest.fixture
def verb(capsys):
    """Return a function that runs a verb here and returns its status and what it printed."""

    def run(*arguments):
        try:
            main([str(argument) for argument in arguments])
            status = 0
        except SystemExit as exit_:
            status = exit_.code or 0
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


@pytest.fixture
def refused(verb, tmp_path, monkeypatch):
    """Return a function that runs a verb in a folder of its own, and returns why it is refused.

    Everything is checked on the way: the status, and that one line is all that is said.
    """
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments):
        status, out, err = verb(*arguments)
        assert (2, "", 1) == (status, out, len(err.splitlines()))
        return err

    return refuse


@pytest.fixture(scope="session")
def spoiled(tmp_path_factory):
    """A run whose data become nan in step 5, its script's plain output, and its folder."""
    folder = tmp_path_factory.mktemp("spoiled")
    (folder / "train.py").write_text(TRAINING + "train(8, spoiled=5)\n")
    plain = call(sys.executable, "train.py", cwd=folder)
    arguments = ("--run", "run", "--save", "gradients:raw:every=3", "train.py")
    watched = call(STEPWATCH, "run", *arguments, cwd=folder)
    return folder, plain, watched
