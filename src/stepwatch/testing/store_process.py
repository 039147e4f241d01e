"""Another process that writes to a store, for the laws that hold across processes."""

from __future__ import annotations

import os
import subprocess
import sys

_OPEN = """
import itertools, sys
from stepwatch.store import open_store
store, argument = open_store(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
"""


class StoreProcess:
    """A fresh interpreter that has everything imported and waits for the word to begin.

    Args:
        script: What it does with ``store`` and ``argument``.
        url: Of the store.
        argument: For the script.
    """

    def __init__(self, script: str, url: str, argument: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OPEN + script, url, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def begin(self) -> None:
        """Wait until it is ready, and let it go on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """Kill it in the middle of its script."""
        self._process.kill()
        self._process.communicate()
        assert self._process.returncode < 0, "it ended before it was killed"

    def output(self) -> str:
        """Wait for its end and return what it printed."""
        output, _ = self._process.communicate(timeout=60)
        assert self._process.returncode == 0
        return output.strip()
