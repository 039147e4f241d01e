"""Scripts that say ``/opt/ml`` find the folder of their job there, where that is possible."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stepwatch.jobs.container_env import bind_mount
from stepwatch.jobs.processes import start
from tests.support.jobs.living import TIMEOUT_S, submit

__all__ = ["submit"]
NOBODY = 65534
DUMPABLE = 4  # PR_SET_DUMPABLE

WRITES = """
import json
from pathlib import Path
told = json.loads(Path("/opt/ml/input/config/hyperparameters.json").read_text())
Path("/opt/ml/model/weights").write_text(told["rate"])
"""
SUBMITS = """
import os, sys
from pathlib import Path
from stepwatch.jobs import Job
home, script = Path(sys.argv[1]), sys.argv[2]
made = [Job(script, name=f"job-{n}", home=home, capture=False, hyperparameters={"rate": str(n)})
        for n in range(2)]
records = [job.wait(100) for job in [one.submit() for one in made]]
print([one.failure for one in records], os.listdir("/opt/ml"))
"""


def may_mount(*options):
    """Return whether a process may have mounts of its own here."""
    command = ["unshare", "--mount", *options, "true"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def folder():
    """Return a folder into which everybody may look."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "shown").mkdir()
        (place / "shown" / "file").write_text("inside")
        (place / "at").mkdir()
        yield place


def read(folder, prepare):
    """Return what a process that is prepared so finds in the second place, or says."""
    process = start(
        ["cat", str(folder / "at" / "file")], folder / "log", os.environ, prepare=prepare
    )
    process.wait()
    return (folder / "log").read_text()


class TestShow:
    @pytest.mark.skipif(
        not may_mount() and not may_mount("--map-root-user"), reason="no mounts of one's own here"
    )
    def test_one_process_finds_it_and_nobody_else(self, folder):
        """The second place stays what it was."""
        assert "inside" == read(folder, bind_mount(folder / "shown", folder / "at"))
        assert [] == list((folder / "at").iterdir())

    @pytest.mark.skipif(
        os.getuid() != 0 or not may_mount("--map-root-user"),
        reason="needs root, and user namespaces",
    )
    def test_whoever_is_not_root_finds_it_too(self, folder):
        """And stays who it is."""
        shown = bind_mount(folder / "shown", folder / "at")

        def prepare():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            ctypes.CDLL(None).prctl(DUMPABLE, 1)  # as is who did not change only now
            shown()

        assert "inside" == read(folder, prepare)

    def test_where_it_cannot_be_done_a_line_says_so(self, folder):
        """And the program begins."""
        said = read(folder, bind_mount(folder / "nosuch", folder / "at"))

        assert f"stepwatch: {folder}/at is not the job's folder here: " in said
        assert "No such file" in said.splitlines()[-1], "what the program said itself"


@pytest.mark.slow
class TestAJob:
    @pytest.mark.skipif(os.getuid() != 0 or not may_mount(), reason="needs a folder /opt/ml")
    def test_each_has_its_own_folder_there(self, tmp_path):
        """Two at a time, on a machine that has an empty folder of that name."""
        (tmp_path / "script.py").write_text(WRITES)
        (tmp_path / "submits.py").write_text(SUBMITS)
        machine = 'mount -t tmpfs none /opt && mkdir /opt/ml && exec "$@"'
        told = subprocess.run(
            [
                *("unshare", "--mount", "sh", "-ec", machine, "sh", sys.executable),
                *(tmp_path / name for name in ("submits.py", "jobs", "script.py")),
            ],
            env={**os.environ, "STEPWATCH_JOBS_AT_ONCE": "2"},
            capture_output=True,
            text=True,
            check=False,
        )

        assert "['', ''] []\n" == told.stdout, told.stderr
        models = [tmp_path / "jobs" / f"job-{n}" / "model" / "weights" for n in range(2)]
        assert ["0", "1"] == [one.read_text() for one in models]

    @pytest.mark.skipif(Path("/opt/ml").is_dir(), reason="there is a folder /opt/ml")
    def test_where_there_is_none_the_reason_of_the_failure_tells(self, submit):
        """What one would do about it."""
        record = submit(WRITES).wait(TIMEOUT_S)

        assert "No such file or directory: '/opt/ml/input/" in record.failure
        assert "make an empty folder /opt/ml" in record.failure
