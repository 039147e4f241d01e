"""Azurite, Microsoft's own stand-in for Azure's storage, on loopback and in memory.

    python tests/azure/azurite.py   installs it with npm, where it is not there yet

It checks signatures, ranges and conditions. It knows no hierarchical namespaces and no listing
that starts after a name.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PACKAGE = "azurite@3.37.0"
ACCOUNT = "devstoreaccount1"
# What Microsoft's documentation gives for this program; it opens nothing else.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
START_SECONDS = 60
_CACHE = Path(os.environ.get("STEPWATCH_TEST_AZURITE", "~/.cache/stepwatch/azurite")).expanduser()
_DEATH_SIGNAL = 1  # of the parent: PR_SET_PDEATHSIG of Linux


class Azurite:
    """The server, from ``with`` to its end.

    Raises:
        RuntimeError: It cannot be installed or does not start; the message says why.
    """

    def __enter__(self) -> Azurite:
        program = install()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["--blobPort", str(self.port), "--inMemoryPersistence", "--silent"]
        self._server = subprocess.Popen(
            ["node", program, *options, "--skipApiVersionCheck", "--disableTelemetry"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,
        )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()  # nothing that is worth being stored
        self._server.wait()

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which programs reach it."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{self.port}/{ACCOUNT}",
        }

    def _wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._server.poll() is not None:
                raise RuntimeError(f"azurite ended with {self._server.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"azurite did not open its port within {START_SECONDS} s")


def install() -> str:
    """Install it where it is absent; return the path of the program.

    Raises:
        RuntimeError: That is not possible here.
    """
    program = _CACHE / "node_modules" / ".bin" / "azurite-blob"
    if program.exists():
        return str(program)
    if not shutil.which("npm") or not shutil.which("node"):
        raise RuntimeError(f"{PACKAGE} needs node and npm; install them")
    _CACHE.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--prefix", str(_CACHE), "--omit=dev", "--ignore-scripts", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"npm cannot install {PACKAGE}: {done.stderr.strip()[-500:]}")
    return str(program)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    print(install())
