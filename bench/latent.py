"""A store as far away as an object store is, that counts what it is asked for."""

from __future__ import annotations

import builtins
import time

from stepwatch.store import BytesLike, Store

PAGE = 1_000  # keys in one answer to a listing, as in S3


class LatentStore:
    """A store whose every request takes time; those made at the same time overlap.

    Args:
        store: Where the values lie.
        latency_s: Seconds before each answer; of a listing for each page of it.
    """

    def __init__(self, store: Store, latency_s: float = 0.0) -> None:
        self._store = store
        self._latency_s = latency_s
        # Several threads ask at once: to append is one step for all of them, to add is not.
        self._lengths: builtins.list[int] = []

    @property
    def url(self) -> str:
        """Where the values lie."""
        return self._store.url

    @property
    def requests(self) -> int:
        """How many requests were made."""
        return len(self._lengths)

    @property
    def bytes_read(self) -> int:
        """How many bytes were read."""
        return sum(self._lengths)

    def put(self, key: str, data: BytesLike) -> None:
        """Set a value, new or not."""
        self._wait()
        self._store.put(key, data)

    def create(self, key: str, data: BytesLike) -> bool:
        """Set a value unless there is one; return whether this call did."""
        self._wait()
        return self._store.create(key, data)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a value or a part of it."""
        data = self._store.get(key, start, length)
        self._wait(len(data))
        return data

    def size(self, key: str) -> int:
        """Return how many bytes the value has."""
        self._wait()
        return self._store.size(key)

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        """Return the keys that start with ``prefix`` and sort after ``after``, ascending."""
        keys = self._store.list(prefix, after)
        for _ in range(len(keys) // PAGE + 1):
            self._wait()
        return keys

    def delete(self, key: str) -> None:
        """Remove a value; it need not be there."""
        self._wait()
        self._store.delete(key)

    def _wait(self, length: int = 0) -> None:
        self._lengths.append(length)
        if self._latency_s:
            time.sleep(self._latency_s)
