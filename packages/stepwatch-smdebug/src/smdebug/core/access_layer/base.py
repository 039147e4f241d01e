"""What files on this machine and objects on S3 have in common."""

from __future__ import annotations

from ...exceptions import SMDebugError
from ..logger import get_logger


class TSAccessBase:
    """A file that is written once, or read whole and then in parts."""

    def __init__(self) -> None:
        self.logger = get_logger()
        self._data: bytes | str = b""
        self._position = 0

    def write(self, data: bytes | str) -> list[int]:
        """Add something, and return where it begins and how long it is."""
        raise NotImplementedError

    def flush(self) -> None:
        """Hand on what was written."""

    def close(self) -> None:
        """Let it appear under its name."""
        raise NotImplementedError

    def ingest_all(self) -> None:
        """Read all of it, for ``read``."""
        raise NotImplementedError

    def read(self, n: int) -> bytes | str:
        """Return the next ``n`` bytes of what was read.

        Raises:
            SMDebugError: There are fewer.
        """
        end = self._position + n
        if end > len(self._data):
            raise SMDebugError(f"{n} bytes from {self._position} on, of {len(self._data)}")
        found = self._data[self._position : end]
        self._position = end
        return found

    def has_data(self) -> bool:
        """Return whether something is left of what was read."""
        return self._position < len(self._data)
