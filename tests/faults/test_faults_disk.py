"""A store that refuses for a while, or for good: training is as ever, and what is lost is said."""

from __future__ import annotations

import ctypes
import os

import pytest

FILL = """
def fill():
    with open("disk/others", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass

"""
# What only we use is made to fail; without us it is this.
ALONE = "train()\n"
FILLED_FOR_A_WHILE = FILL + "train(faults={20: fill, 40: lambda: os.unlink('disk/others')})\n"
FILLED_FOR_GOOD = FILL + "train(faults={20: fill})\n"

LIMITED = """
soft, hard = resource.getrlimit(resource.RLIMIT_{what})
train(faults={{
    20: lambda: resource.setrlimit(resource.RLIMIT_{what}, ({limit}, hard)),
    40: lambda: resource.setrlimit(resource.RLIMIT_{what}, (soft, hard)),
}})
"""

FORBIDDEN = """
from pathlib import Path

def allow(mode):
    for folder in [*Path("run").rglob("*/"), Path("run")]:
        if folder.is_dir():
            folder.chmod(mode)

train(faults={faults})
"""

REMOUNT = """
def remount(how):
    subprocess.run(["mount", "-o", f"remount,{how}", "disk"], check=True)

"""
# The ring of a companion is open all the time, which keeps a disk from being remounted. What opens
# a file anew sees what is mounted over it.
COVER = """
def cover(how):
    if how == "rw":
        subprocess.run(["umount", "disk"], check=True)
    else:
        subprocess.run(["mount", "--bind", "disk", "disk"], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", "disk"], check=True)

"""
# The black box is, too.
ALONE_ON_IT = {
    "alone": ALONE,
    "options": ["--no-companion", "--black-box", "0", "--no-profile"],
}


def kept(first, last):
    return [step for step in range(60) if not first <= step < last]


class TestFullDisk:
    @pytest.mark.slow
    def test_what_was_not_stored_while_it_was_full_is_counted(self, faulty, small_disk):
        """Twenty steps exactly; those before and after them are there."""
        seen = faulty(FILLED_FOR_A_WHILE, run=small_disk / "run", alone=ALONE)

        seen.assert_unharmed()
        assert ["20 of 60 steps (No space left on device)"] == seen.shown("lost")
        assert kept(20, 40) == seen.trial.steps()
        assert 1 == seen.watched.told.count("failed; training goes on")

    @pytest.mark.slow
    def test_a_disk_that_others_filled_has_room_for_the_note(self, faulty, small_disk):
        """It stays full to the end; the note says so all the same."""
        seen = faulty(FILLED_FOR_GOOD, run=small_disk / "run", alone=ALONE)

        seen.assert_unharmed()
        assert ["40 of 60 steps (No space left on device)"] == seen.shown("lost")
        assert ("finished", kept(20, 60)) == (seen.trial.state, seen.trial.steps())

    @pytest.mark.slow
    def test_a_quota_of_our_own_making_is_the_same(self, faulty, small_disk):
        """Full values fill it: some steps are there, the others are counted."""
        options = ["--save", "weights:raw"]
        seen = faulty("train(width=1024)\n", run=small_disk / "run", options=options)

        seen.assert_unharmed()
        lost = seen.end.dropped
        assert 0 < lost <= 60
        assert [f"{lost} of 60 steps (No space left on device)"] == seen.shown("lost")
        assert 60 - lost == len(seen.trial.steps())


class TestLimits:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("what", "limit", "why"),
        [
            ("NOFILE", 0, "Too many open files"),
            pytest.param("FSIZE", 100, "File too large", marks=pytest.mark.slow),
        ],
    )
    def test_a_limit_of_the_process_costs_steps_only(self, faulty, what, limit, why):
        """No file can be opened, or none be longer than a line, from step 20 to 39.

        The limits of a process are not those of its companion.
        """
        text = LIMITED.format(what=what, limit=limit)
        seen = faulty(text, alone=ALONE, options=["--no-companion"])

        seen.assert_unharmed()
        assert [f"20 of 60 steps ({why})"] == seen.shown("lost")
        assert kept(20, 40) == seen.trial.steps()


class TestPermission:
    @pytest.mark.slow
    def test_permission_lost_for_a_while_costs_steps_only(self, faulty):
        """The folders of the run may not be written to from step 20 to 39."""
        faults = "{20: lambda: allow(0o555), 40: lambda: allow(0o755)}"
        text = FORBIDDEN.format(faults=faults)
        seen = faulty(text, alone=ALONE, preexec_fn=be_like_anybody)

        seen.assert_unharmed()
        assert ["20 of 60 steps (Permission denied)"] == seen.shown("lost")
        assert kept(20, 40) == seen.trial.steps()

    @pytest.mark.slow
    def test_permission_lost_for_good_leaves_what_was_stored(self, faulty):
        """No note can be left, so it died; the summary says what it was."""
        text = FORBIDDEN.format(faults="{20: lambda: allow(0o555)}")
        seen = faulty(text, alone=ALONE, preexec_fn=be_like_anybody)

        seen.assert_unharmed()
        assert ("died", 40, list(range(60))) == (
            seen.trial.state, seen.trial.num_salvaged, seen.trial.steps()
        )  # fmt: skip
        assert any("; 40 steps are from the black box" in line for line in seen.shown(""))
        assert "Permission denied" in seen.watched.told


class TestReadOnly:
    @pytest.mark.slow
    def test_a_disk_that_can_only_be_read_for_a_while_costs_nothing(self, faulty, small_disk):
        """What it does not take from step 20 to 39 waits, and is stored in its order."""
        faults = "{20: lambda: remount('ro'), 40: lambda: remount('rw')}"
        seen = faulty(f"{REMOUNT}train(faults={faults})\n", run=small_disk / "run", **ALONE_ON_IT)

        seen.assert_unharmed()
        assert ("finished", list(range(60))) == (seen.trial.state, seen.trial.steps())
        assert 60 == len(seen.trial.tensor("loss/mse_loss").statistics()["mean"])
        assert [] == seen.shown("lost")
        assert "Read-only file system; steps wait in memory" in seen.watched.told

    @pytest.mark.slow
    @pytest.mark.parametrize("run_format", ["native", "smdebug"])
    def test_so_it_is_beside_a_companion(self, faulty, disk, run_format):
        """Steps wait in its memory, and those that it judged are no more in the ring."""
        faults = "{20: lambda: cover('ro'), 40: lambda: cover('rw')}"
        seen = faulty(
            f"{COVER}train(faults={faults})\n",
            run=disk / "run",
            alone=ALONE,
            options=["--companion", "--black-box", "0", "--format", run_format],
        )

        seen.assert_unharmed()
        assert ("finished", list(range(60))) == (seen.trial.state, seen.trial.steps())
        assert 60 == len(seen.trial.tensor("loss/mse_loss").statistics()["mean"])
        assert ([], 0) == (seen.shown("lost"), seen.end.dropped)
        assert "Read-only file system; steps wait in memory" in seen.watched.told

    @pytest.mark.slow
    def test_what_a_companion_could_not_store_for_good_is_said(self, faulty, disk):
        """The disk stays as it is: no note can be left; the summary says what is lost."""
        seen = faulty(
            f"{COVER}train(faults={{20: lambda: cover('ro')}})\n",
            run=disk / "run",
            alone=ALONE,
            options=["--companion", "--black-box", "8"],
        )

        seen.assert_unharmed()
        assert ("died", 40, list(range(60))) == (
            seen.trial.state, seen.trial.num_salvaged, seen.trial.steps()
        )  # fmt: skip
        assert "lost: 40 of 60 steps (Read-only file system)" in seen.watched.told
        assert "Healthy: " in seen.watched.told


class TestDeleted:
    @pytest.mark.parametrize(
        "who", ["--no-companion", pytest.param("--companion", marks=pytest.mark.slow)]
    )
    @pytest.mark.parametrize(
        "run_format", ["native", pytest.param("smdebug", marks=pytest.mark.slow)]
    )
    def test_a_run_that_is_deleted_while_it_is_written_is_said_to_be_lost(
        self, faulty, who, run_format
    ):
        """Nobody is sent to look at what is not there; the script ends as it would."""
        text = (
            "def delete():\n"
            "    import shutil\n"
            "    shutil.rmtree('run', ignore_errors=True)\n\n"
            "train(faults={30: delete})\nsys.exit(7)\n"
        )
        seen = faulty(text, options=[who, "--format", run_format])

        seen.assert_unharmed()
        assert "lost: the run, or its beginning: it was deleted" in seen.watched.told
        assert "look at it with" not in seen.watched.told


def be_like_anybody():
    """Take from root, before a program begins, the right to write where nobody may."""
    pr_capbset_drop, cap_dac_override, cap_dac_read_search = 24, 1, 2
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (cap_dac_override, cap_dac_read_search):
            libc.prctl(pr_capbset_drop, capability, 0, 0, 0)
