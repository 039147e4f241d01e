"""A program that is forked ends as one in a new interpreter does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import fork_server

PROGRAMS = {
    "it prints": "import sys; print(__name__, sys.argv[1:])",
    "a status": "raise SystemExit(3)",
    "a negative status": "raise SystemExit(-1)",
    "a last word": "raise SystemExit('no')",
    "an error": "def fail():\n    1 / 0\nfail()",
    "no program": "def (",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "a file that is not closed": "file = open('file', 'w'); file.write('text')",
    "a finalizer": "class Last:\n    def __del__(self): print('last')\nlast = Last()",
    "a callback": "import atexit; atexit.register(print, 'last'); print('first')",
    "a thread": "import threading; threading.Timer(0.1, print, ['last']).start()",
    "a daemon": "import threading, time\n"
    "def turn():\n    while True: time.sleep(0.001)\n"
    "threading.Thread(target=turn, daemon=True).start()",
    "a stream that is closed": "import sys; sys.stdout.close()",
    "a hook for errors": "import sys; sys.excepthook = lambda *_: print('an error'); 1 / 0",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "option"),
    [
        *((one, "script") for one in PROGRAMS),
        *((one, "-c") for one in ("it prints", "an error", "no program")),
    ],
)
def test_it_ends_as_in_a_new_interpreter(program, option, tmp_path):
    """The same status, output, and files."""

    def ended(run, folder):
        folder.mkdir()
        Path(folder, "script.py").write_text(PROGRAMS[program])
        command = ["script.py"] if option == "script" else ["-c", PROGRAMS[program]]
        done = run([sys.executable, *command, "argument"], cwd=folder, capture_output=True)
        files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        output = (done.stdout + done.stderr).replace(bytes(folder), b"")
        return done.returncode, output, files

    expected = ended(subprocess.run, tmp_path / "new")
    assert expected == ended(fork_server.run, tmp_path / "forked")
