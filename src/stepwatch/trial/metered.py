"""A store that counts what is read from it."""

from __future__ import annotations

import builtins

from ..store import BytesLike, Store


class MeteredStore:
    """A store, and how many bytes were read from it.

    Args:
        store: Where the values lie.

    Example:
        >>> from stepwatch.store import open_store
        >>> store = MeteredStore(open_store("memory://metered-example"))
        >>> store.put("letters", b"abcdef")
        >>> store.get("letters", 1, 3), store.bytes_read, store.bytes_stored
        (b'bcd', 3, 6)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # Several threads read at once: to append is one step for all of them, to add is not.
        self._lengths: builtins.list[int] = []

    @property
    def url(self) -> str:
        """Where the values lie."""
        return self._store.url

    @property
    def bytes_read(self) -> int:
        """How many bytes were read."""
        return sum(self._lengths)

    @property
    def bytes_stored(self) -> int:
        """How many bytes lie there in all."""
        return sum(self._store.size(key) for key in self._store.list())

    def put(self, key: str, data: BytesLike) -> None:
        """Set a value, new or not."""
        self._store.put(key, data)

    def create(self, key: str, data: BytesLike) -> bool:
        """Set a value unless there is one; return whether this call did."""
        return self._store.create(key, data)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a value or a part of it, and count it."""
        data = self._store.get(key, start, length)
        self._lengths.append(len(data))
        return data

    def size(self, key: str) -> int:
        """Return how many bytes the value has."""
        return self._store.size(key)

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        """Return the keys that start with ``prefix`` and sort after ``after``, ascending."""
        return self._store.list(prefix, after)

    def delete(self, key: str) -> None:
        """Remove a value; it need not be there."""
        self._store.delete(key)
