"""Exit codes of programs are noted by what starts them, and signals reach the programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import stepwatch.jobs.exit_note

COMMAND = [sys.executable, "-I", "-S", Path(stepwatch.jobs.exit_note.__file__)]


@pytest.mark.parametrize("code", [0, 3])
def test_an_exit_code_is_noted(tmp_path, code):
    note = tmp_path / "note"
    subprocess.run([*COMMAND, note, sys.executable, "-c", f"raise SystemExit({code})"], check=True)

    assert str(code) == note.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_before_the_program_ends_the_program(tmp_path, number):
    """A job may be stopped as soon as it is made."""

    def leave_signal_pending():
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        os.kill(os.getpid(), number)

    note = tmp_path / "note"
    subprocess.run(
        [*COMMAND, note, "sleep", "100"],
        preexec_fn=leave_signal_pending,
        timeout=60,
        check=True,
    )

    assert str(-number) == note.read_text()
