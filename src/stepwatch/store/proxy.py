"""Stores that stand before another one: to pass everything on, and to count what is read."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from . import BytesLike, Store, put_all, put_parts


class StoreProxy:
    """A store that passes every call on to another one; inherit it to observe some of them.

    Args:
        store: Where the values lie.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def url(self) -> str:
        return self._store.url

    def put(self, key: str, data: BytesLike) -> None:
        self._store.put(key, data)

    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None:
        put_parts(self._store, key, parts)

    def put_all(self, items: Sequence[tuple[str, BytesLike]]) -> int:
        return put_all(self._store, items)

    def create(self, key: str, data: BytesLike) -> bool:
        return self._store.create(key, data)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        return self._store.get(key, start, length)

    def size(self, key: str) -> int:
        return self._store.size(key)

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        return self._store.list(prefix, after)

    def delete(self, key: str) -> None:
        self._store.delete(key)


class MeteredStore(StoreProxy):
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
        super().__init__(store)
        # Several threads read at once: to append is one step for all of them, to add is not.
        self._lengths: builtins.list[int] = []

    @property
    def bytes_read(self) -> int:
        """How many bytes were read."""
        return sum(self._lengths)

    @property
    def bytes_stored(self) -> int:
        """How many bytes lie there in all."""
        return sum(self._store.size(key) for key in self._store.list())

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        data = self._store.get(key, start, length)
        self._lengths.append(len(data))
        return data
