"""Files on this machine, as smdebug writes them: under another name until they are whole."""

from __future__ import annotations

import os
from typing import IO, Any

from ..utils import ensure_dir
from .base import TSAccessBase

SMDEBUG_TEMP_PATH_SUFFIX = ".tmp"
WRITE_MODES = ["w", "w+", "wb", "wb+", "a", "a+", "ab", "ab+"]


def get_temp_path(file_path: str) -> str:
    """Return the name of a file until it is whole."""
    return file_path + SMDEBUG_TEMP_PATH_SUFFIX


class TSAccessFile(TSAccessBase):
    """A file.

    Args:
        path: Its path; its folder is made.
        mode: As ``open`` takes it. What is written appears at ``close``.
    """

    def __init__(self, path: str, mode: str) -> None:
        super().__init__()
        self.path = path
        self.mode = mode
        ensure_dir(path)
        if mode in WRITE_MODES:
            self.temp_path = get_temp_path(path)
            self.open(self.temp_path, mode)
        else:
            self.open(path, mode)

    def open(self, path: str, mode: str) -> None:
        """Open a file, in place of the one that is open."""
        self._accessor: IO[Any] = open(path, mode)  # noqa: SIM115  until it is closed

    def write(self, data: bytes | str) -> list[int]:
        start = self._accessor.tell()
        self._accessor.write(data)
        return [start, len(data)]

    def flush(self) -> None:
        self._accessor.flush()

    def close(self) -> None:
        self._accessor.close()
        if self.mode in WRITE_MODES and os.path.exists(self.temp_path):
            os.replace(self.temp_path, self.path)  # of several that wrote it, one moves it

    def ingest_all(self) -> None:
        self._data = self._accessor.read()
        self._position = 0
