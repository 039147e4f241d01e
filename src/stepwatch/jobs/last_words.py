"""What a process said last: why it failed, if nothing else tells."""

from __future__ import annotations

import os
from pathlib import Path

# A log may be larger than memory.
_MOST_BYTES = 64 << 10
# Said by us, in the process of a training.
_OURS = "stepwatch: "


def last_words(log: Path) -> str:
    """Return the last line that a program wrote itself; empty if there is none.

    Args:
        log: What it wrote to its outputs.
    """
    if not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    said = [line for line in lines if line]
    own = [line for line in said if not line.startswith(_OURS)]
    return (own or said or [""])[-1]
