"""The process that reads the devices of this machine, as the training sees it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..formats.profile.layout import node_name
from ..formats.profile.machine import Machine, write_machine
from ..store import Store, scheme_of

_log = logging.getLogger("stepwatch")
# The folder of a script may hold files that are called like what Python itself imports.
_CODE = """\
import sys
del sys.path[0]
sys.path.append({root!r})
from stepwatch.profiler.sampler import main
main({arguments!r})
"""
# What it gathered is stored by then.
_PATIENCE_S = 5.0


class SamplerProcess:
    """Starts the sampler, and ends it; it also ends by itself when this process is gone.

    Args:
        store: Where the run lies.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, interval_ms: int) -> None:
        """Begin to read every so many milliseconds; what fails is said, and goes on without."""
        if not interval_ms or scheme_of(self._store.url) == "memory" or not sys.executable:
            return  # what is in this process's memory no other can write
        if find_spec("psutil") is None:
            self._note("psutil is not installed; run: pip install 'stepwatch[profiler]'")
            return
        arguments = [self._store.url, f"--parent={os.getpid()}", f"--interval-ms={interval_ms}"]
        code = _CODE.format(root=str(Path(__file__).parents[2]), arguments=arguments)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the training
            )
        except OSError as error:
            self._note(f"the sampler did not start: {error}")

    def stop(self) -> None:
        """Let it store what it has, and end."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            process.terminate()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _note(self, why: str) -> None:
        node, now = node_name(socket.gethostname()), time.time_ns()
        note = Machine(node, started_ns=now, ended_ns=now, notes=(f"no device is read: {why}",))
        write_machine(self._store, note)
        _log.info("%s", note.notes[0])
