"""Where a script ran and what its text was, so that it can be run again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path


def working_folder() -> str:
    """Return the working directory; ``""`` where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def script_digest(command: Sequence[str], folder: str = "") -> str:
    """Return the SHA-256 of a script's file as hexadecimal digits; ``""`` if it is no file.

    Args:
        command: The script and its arguments.
        folder: Where a relative path begins; the working directory by default.
    """
    try:
        return hashlib.sha256(Path(folder, command[0]).read_bytes()).hexdigest()
    except (OSError, ValueError, IndexError):
        return ""  # a module, typed in, or deleted
