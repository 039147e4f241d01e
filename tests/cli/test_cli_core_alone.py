"""Stepwatch without ``stepwatch-smdebug``: it works, and says what to install for the rest."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH
from tests.support.formats.smdebug.golden_runs import RUNS, expected, golden_run

SCRIPT = """\
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
print("trained")
"""
# Python runs this file in every process at its start, in those that a process starts as well.
UNINSTALL = """\
import importlib.metadata as metadata, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("stepwatch_smdebug", "smdebug", "smdebug_rulesconfig"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
of_all = metadata.entry_points

class Installed:
    def select(self, **which):
        return metadata.EntryPoints(
            one for one in of_all(**which)
            if one.dist is None or one.dist.name != "stepwatch-smdebug"
        )

metadata.entry_points = lambda **which: Installed().select(**which) if which else Installed()
"""
INSTALL = "pip install stepwatch-smdebug"


def call(*command, cwd):
    """Run a command to its end."""
    return fork_server.run(command, cwd=cwd, capture_output=True, text=True, timeout=240)


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A folder with a script; processes that begin now lack the other distribution."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "hook.json").write_text("{}")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(UNINSTALL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    return tmp_path


class TestTheCoreAlone:
    def test_the_other_distribution_is_missing(self, alone):
        """Else the tests below would show nothing."""
        code = "import smdebug"

        told = call(sys.executable, "-c", code, cwd=alone)

        assert "No module named 'smdebug'" in told.stderr

    def test_a_training_is_captured(self, alone):
        """``stepwatch run`` needs nothing of it."""

        told = call(STEPWATCH, "run", "--run", "native", "train.py", cwd=alone)

        assert told.returncode == 0, told.stderr
        assert "trained" in told.stdout
        assert (alone / "native" / "run.json").is_file()

    def test_an_old_run_is_read(self, alone):
        """Reading smdebug's format belongs to the core."""
        run = str(golden_run(RUNS[0]))

        told = call(STEPWATCH, "show", run, "--tensor", ".*", "--json", cwd=alone)

        assert expected(RUNS[0])["tensor_names"][0] in json.loads(told.stdout)["series"]

    @pytest.mark.parametrize("option", [("--hook-config", "hook.json"), ("--format", "smdebug")])
    def test_what_needs_it_says_what_to_install(self, alone, option: tuple[str, str]):
        """In one line, before anything is trained."""

        told = call(STEPWATCH, "run", "--run", "old", *option, "train.py", cwd=alone)

        assert told.returncode != 0
        assert len(told.stderr.splitlines()) == 1
        assert INSTALL in told.stderr
        assert "trained" not in told.stdout
        assert not (alone / "old").exists()
