"""A line at the bottom of the terminal that leaves the rest of it alone.

The terminal scrolls only above the line (DECSTBM), so whatever a script prints, progress bars
included, looks as it would without it.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TextIO

from ..config import environment

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[2K"


class StatusLine:
    """The bottom line of a terminal.

    Args:
        stream: Where to write; nothing is shown if it is no terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = 0
        self._lock = threading.Lock()
        self.enabled = stream.isatty() and environment().get("TERM", "dumb") != "dumb"

    def show(self, text: str) -> None:
        """Show a text in place of the last."""
        if not self.enabled:
            return
        with self._lock:
            columns, rows = _size(self._stream)
            start = self._claim(rows) if rows != self._rows else ""
            line = f"{_SAVE}\x1b[{rows};1H{_CLEAR}{text[: columns - 1]}{_RESTORE}"
            self._write(start + line)

    def close(self) -> None:
        """Give the line back."""
        with self._lock:
            if self._rows:
                self._write(f"{_SAVE}\x1b[r\x1b[{self._rows};1H{_CLEAR}{_RESTORE}")
                self._rows = 0

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal went away, or the script closed it
            self._stream.write(text)
            self._stream.flush()

    def _claim(self, rows: int) -> str:
        """Return what makes the terminal scroll above its last row."""
        self._rows = rows
        # A line feed first: the cursor may stand in the last row, and its text must not be lost.
        return f"\n{_SAVE}\x1b[1;{rows - 1}r{_RESTORE}\x1b[1A"


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24
