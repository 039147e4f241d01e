"""A copy of a folder in another place, kept up while files come."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..store import open_store, put_parts
from ..store.local import LocalStore
from ..store.pieces import pieces_of_file

_State = tuple[int, int]


class FolderCopy:
    """Copies the files of a folder as they come.

    Args:
        folder: It need not be there yet.
        url: Where the copy lies.
        is_ours: Whether we write there: then a file is good at any moment, and one that is deleted
            goes there, too. What a script writes is copied once it stays as it is, and kept.

    Raises:
        ConfigError: No store is installed for the URL.
    """

    def __init__(self, folder: Path, url: str, *, is_ours: bool = False) -> None:
        self._folder, self._target, self._is_ours = folder, open_store(url), is_ours
        self._seen: dict[str, _State] = {}
        self._copied: dict[str, _State] = {}

    def advance(self, *, at_end: bool = False) -> None:
        """Copy what is new or has changed.

        Args:
            at_end: Nobody writes any more.

        Raises:
            StoreError: It is refused there.
        """
        before, self._seen = self._seen, self._states()
        for key, state in self._seen.items():
            is_good = self._is_ours or at_end or before.get(key) == state
            if is_good and self._copied.get(key) != state:
                self._put(key)
                self._copied[key] = state
        for key in self._copied.keys() - self._seen.keys() if self._is_ours else ():
            self._target.delete(key)
            del self._copied[key]

    def _states(self) -> dict[str, _State]:
        """Return size and time of each file."""
        found = dict[str, _State]()
        for key in LocalStore(self._folder).list():
            with suppress(FileNotFoundError):  # deleted meanwhile
                status = os.stat(self._folder / key)
                found[key] = status.st_size, status.st_mtime_ns
        return found

    def _put(self, key: str) -> None:
        with suppress(FileNotFoundError), (self._folder / key).open("rb") as file:
            put_parts(self._target, key, pieces_of_file(file))
