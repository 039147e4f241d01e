"""axe-core, which finds what keeps people from using a page; it is installed with npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

PACKAGE = "axe-core@4"
_CACHE = Path(os.environ.get("STEPWATCH_TEST_AXE", "~/.cache/stepwatch/axe")).expanduser()


def script() -> str:
    """Return its script, installed where it is not there yet.

    Raises:
        RuntimeError: It cannot be installed; the message says why.
    """
    kept = _CACHE / "package/axe.min.js"
    if not kept.is_file():
        _install()
    return kept.read_text("utf-8")


def violations(page: Any, source: str) -> list[str]:
    """Return what is wrong with a page that is open: the rule, and where it first is."""
    page.evaluate(source)  # by the driver, so that the page's policy does not forbid it
    found = page.evaluate("() => axe.run()")["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def _install() -> None:
    if shutil.which("npm") is None:
        raise RuntimeError(f"{PACKAGE} is needed, and there is no npm to install it")
    _CACHE.mkdir(parents=True, exist_ok=True)
    command = ["npm", "pack", "--silent", PACKAGE]
    done = subprocess.run(command, cwd=_CACHE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"npm cannot pack {PACKAGE}: {done.stderr.strip()[-500:]}")
    with tarfile.open(_CACHE / done.stdout.split()[-1]) as archive:
        archive.extract("package/axe.min.js", _CACHE)
