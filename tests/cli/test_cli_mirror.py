"""``--mirror`` and ``stepwatch mirror``, over real processes."""

from __future__ import annotations

import signal
import subprocess

import pytest

from stepwatch.store import open_store
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from tests.support import fork_server
from tests.support.cli.commands import STEPWATCH, environment

WAITS = """
import sys
train(20, then=lambda: (print("half", flush=True), sys.stdin.readline()), spoiled=10)
"""


def keys(folder):
    left_out = ("reserve/", "blackbox/")
    return {key for key in open_store(folder).list() if not key.startswith(left_out)}


def start(*command, cwd):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return fork_server.Popen([STEPWATCH, *command], cwd=cwd, env=environment(), text=True, **pipes)


def assert_same(run, copy):
    assert keys(run) == keys(copy)
    assert {} == {
        key: "differs" for key in keys(run) if open_store(run).get(key) != open_store(copy).get(key)
    }


@pytest.mark.parametrize("format", ["native", pytest.param("smdebug", marks=pytest.mark.slow)])
def test_a_training_is_mirrored_to_its_end(stepwatch, write, tmp_path, format):
    """Findings, full values and end note included; nothing of it is told."""
    write("train(8, spoiled=5)\n", "train.py")
    told = stepwatch(
        "run", "--run", "run", "--mirror", "copy", "--format", format,
        "--save", "gradients:raw", "train.py",
    ).stderr  # fmt: skip

    assert_same(tmp_path / "run", tmp_path / "copy")
    assert "copy" not in told
    assert ("finished", 8) == (
        (trial := Trial(tmp_path / "copy")).state,
        len(trial.steps("TRAIN")),
    )


@pytest.mark.slow
def test_a_mirror_whose_training_was_killed_is_finished_later(stepwatch, write, tmp_path):
    """What was stored before its end is all there; to call it again changes nothing."""
    script = write(WAITS, "train.py")
    process = start("run", "--run", "run", "--mirror", "copy", script, cwd=tmp_path)
    while process.stdout.readline() not in ("half\n", ""):
        continue
    process.send_signal(signal.SIGKILL)
    process.communicate()
    first = stepwatch("mirror", "run", "copy")
    again = stepwatch("mirror", "run", "copy")

    assert (0, 0) == (first.returncode, again.returncode)
    assert f"copy holds all of {tmp_path / 'run'}; " in again.stdout
    assert_same(tmp_path / "run", tmp_path / "copy")
    assert "died" == Trial(tmp_path / "copy").state


@pytest.mark.slow
def test_a_run_that_goes_on_is_followed_to_its_end(write, tmp_path):
    """By another process, which was started in the middle."""
    training = start("run", "--run", "run", write(WAITS, "train.py"), cwd=tmp_path)
    while training.stdout.readline() not in ("half\n", ""):
        continue
    copying = start("mirror", "run", "copy", cwd=tmp_path)
    training.communicate("\n")
    said, _ = copying.communicate(timeout=100)

    assert (0, True) == (copying.returncode, "holds all of" in said)
    assert_same(tmp_path / "run", tmp_path / "copy")
    assert ("finished", 20) == ((trial := Trial(tmp_path / "copy")).state, len(trial.steps()))


def test_what_cannot_be_mirrored_is_refused_in_a_line(refused, tmp_path):
    """To where another run lies, from where none lies, onto itself."""
    run, other = make_run(tmp_path / "run"), make_run(tmp_path / "other", steps=3)
    (tmp_path / "train.py").write_text("")

    assert "already holds something" in refused("run", "--mirror", other, "train.py")
    same = ("--run", "new", "--mirror", "new")
    assert "is the run itself" in refused("run", *same, "train.py")
    assert "is the run itself" in refused("mirror", run, run)
    assert "no run at" in refused("mirror", tmp_path / "nothing", other)


def test_a_store_that_refuses_is_given_up(refused, tmp_path):
    """After a while, with how far it came and what to do."""
    make_run(tmp_path / "run", steps=2)
    (tmp_path / "file").write_bytes(b"")
    said = refused("mirror", tmp_path / "run", tmp_path / "file" / "copy", "--patience", "0")

    assert "tried again for 0 s: 0 files were copied before, " in said
    assert said.rstrip().endswith("call it again to go on")
