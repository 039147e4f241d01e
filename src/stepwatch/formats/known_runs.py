"""Which runs this user made: replay runs what a run names, and a run may be a stranger's.

What is known lies outside of all runs, in ``~/.stepwatch/known-runs``: a line for each, the
digest of its identity and of what replay would run, so that a run cannot vouch for itself.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from ..config import state_folder
from ..store.local import make_private_folder, private_opener
from .manifest import Manifest


def is_known(manifest: Manifest) -> bool:
    """Return whether this user made a run here, or trusted it, and it names the same program."""
    try:
        return _line(manifest) in _path().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError, RuntimeError):
        return False


def remember(manifest: Manifest) -> None:
    """Note that a run is this user's own; where that cannot be noted, replay will ask."""
    with suppress(OSError, RuntimeError):  # no space, no permission, no home
        path = _path()
        make_private_folder(path.parent)
        # one short write at the end of the file: of several processes, none is lost
        with open(path, "ab", buffering=0, opener=private_opener) as file:
            file.write(f"{_line(manifest)}\n".encode())


def _path() -> Path:
    return state_folder() / "known-runs"


def _line(manifest: Manifest) -> str:
    run = [manifest.run_id, *manifest.command], manifest.folder, manifest.script_sha256
    return hashlib.sha256(json.dumps(run).encode()).hexdigest()
