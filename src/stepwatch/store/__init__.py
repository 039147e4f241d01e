"""Where runs lie: bytes under keys. A store knows nothing of tensors.

A value appears whole or not at all, to every process, whatever happens to the writer. That is
all that the formats above need: each of their promises follows from the order of their puts.
"""

from __future__ import annotations

import builtins
import io
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Protocol, cast, overload, runtime_checkable

from ..errors import ConfigError, nearest

if TYPE_CHECKING:
    from typing_extensions import Buffer

BytesLike = bytes | bytearray | memoryview
# What a store writes aside, and never shows, ends in this.
PARTIAL = ".partial"


class Store(Protocol):
    """Bytes under keys, such as ``observations/worker_0/0-99.parquet``.

    A key is one or more names joined by ``/``; see ``check_key``. Every method raises
    ``ConfigError`` for what cannot be a key, and ``StoreError`` when the store refuses. A plug-in
    is declared as an entry point of ``stepwatch.stores`` under the scheme of its URLs and is
    called with the URL; ``stepwatch.testing.store_contract`` holds the tests it must pass.

    A store for which many values at once cost less than each by itself may also have
    ``put_all(items) -> int``, and one that need not hold a value as a whole
    ``put_parts(key, parts)``; the functions of these names say what they promise.
    """

    @property
    def url(self) -> str:
        """What ``open_store`` opens this store by, from any process that can reach it."""

    def put(self, key: str, data: BytesLike) -> None:
        """Set a value, new or not; readers see the old one or the new one, never a part."""

    def create(self, key: str, data: BytesLike) -> bool:
        """Set a value unless there is one; return whether this call did.

        Of several processes that create one key at the same time, one gets True.
        """

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a value, or ``length`` bytes of it from ``start`` on, fewer at its end.

        Raises:
            FileNotFoundError: There is no value.
        """

    def size(self, key: str) -> int:
        """Return how many bytes the value has.

        Raises:
            FileNotFoundError: There is no value.
        """

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        """Return the keys that start with ``prefix`` and sort after ``after``, ascending."""

    def delete(self, key: str) -> None:
        """Remove a value; it need not be there."""


@runtime_checkable
class _PutsAll(Protocol):
    def put_all(self, items: Sequence[tuple[str, BytesLike]]) -> int: ...


@runtime_checkable
class _PutsParts(Protocol):
    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None: ...


def open_store(url: str | os.PathLike[str]) -> Store:
    """Open what a URL names. Nothing is made, and nothing needs to be there.

    Args:
        url: A path, ``file:///path``, ``memory://name``, or a scheme for which a store is
            installed.

    Raises:
        ConfigError: No store is installed for the scheme.

    Example:
        >>> store = open_store("memory://open-store-example")
        >>> store.put("run.json", b"{}")
        >>> open_store("memory://open-store-example").get("run.json")
        b'{}'
    """
    location = os.fspath(url)
    scheme = scheme_of(location)
    if scheme in ("", "file"):
        from .local import LocalStore

        return LocalStore(location)
    if scheme == "memory":
        from .memory import MemoryStore

        return MemoryStore(location)
    return _open_plug_in(scheme, location)


def put_all(store: Store, items: Sequence[tuple[str, BytesLike]]) -> int:
    """Set some of several values, in order: who sees one sees all before it, and each whole.

    Args:
        store: If it has a ``put_all`` of its own, that is called.
        items: Key and value of each.

    Returns:
        How many were set, the first ones; at least one, unless there are none. Call it again with
        the rest.

    Raises:
        ConfigError: What cannot be a key is among them; none was set.
        StoreError: The first one was refused; none was set.

    Example:
        >>> store = open_store("memory://put-all-example")
        >>> items = [("a", b"1"), ("b", b"2")]
        >>> while items:
        ...     items = items[put_all(store, items) :]
        >>> store.list()
        ['a', 'b']
    """
    if isinstance(store, _PutsAll):
        return store.put_all(items)
    for key, data in items[:1]:
        store.put(key, data)
    return len(items[:1])


def put_parts(store: Store, key: str, parts: Sequence[BytesLike]) -> None:
    """Set a value, given in pieces that follow each other; as ``Store.put``.

    Args:
        store: If it has a ``put_parts`` of its own, that is called, and nothing is joined.
        key: The key of the value.
        parts: At least one.
    """
    if isinstance(store, _PutsParts):
        store.put_parts(key, parts)
    else:
        store.put(key, b"".join(parts))


def clear(store: Store) -> None:
    """Remove all that a store holds, but for what cannot be removed.

    Raises:
        StoreError: It cannot be listed.
    """
    for key in store.list():
        with suppress(OSError):
            store.delete(key)


def scheme_of(location: str) -> str:
    """Return the scheme of a URL, lower case; ``""`` for a path.

    Example:
        >>> scheme_of("S3://bucket/run"), scheme_of("runs/a:b")
        ('s3', '')
    """
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", location)
    return match[1].lower() if match else ""


def check_key(key: str) -> None:
    """Raise ``ConfigError`` for what cannot be a key in every store.

    Example:
        >>> check_key("../secret")
        Traceback (most recent call last):
        stepwatch.errors.ConfigError: '../secret' is no key: '..' is no name
    """
    if "\\" in key or "\0" in key:
        raise ConfigError(f"{key!r} is no key: it has a backslash or a zero character")
    for name in key.split("/"):
        if name in ("", ".", "..") or name.endswith(PARTIAL):
            raise ConfigError(f"{key!r} is no key: {name!r} is no name")


def check_prefix(prefix: str) -> None:
    """Raise ``ConfigError`` for what no key can start with."""
    folder = prefix.rpartition("/")[0]
    if folder or prefix.startswith("/"):
        check_key(folder)


def check_range(start: int, length: int | None) -> None:
    """Raise ``ConfigError`` for a range that counts from the end or backward."""
    if start < 0 or (length is not None and length < 0):
        raise ConfigError(f"start and length must not be negative, got {start} and {length}")


class StoreFile(io.RawIOBase):
    """A value of a store as a read-only file that can seek; for readers that want only parts.

    Args:
        store: Where the value lies.
        key: Its key. The size is read once, when opened.

    Example:
        >>> store = open_store("memory://store-file-example")
        >>> store.put("letters", b"abcdef")
        >>> file = StoreFile(store, "letters")
        >>> file.seek(-2, io.SEEK_END), file.read()
        (4, b'ef')
    """

    def __init__(self, store: Store, key: str) -> None:
        super().__init__()
        self._store = store
        self._key = key
        self._size = store.size(key)
        self._position = 0

    def size(self) -> int:
        return self._size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        if whence not in origins:
            raise ValueError(f"whence must be 0, 1 or 2, got {whence}")
        position = origins[whence] + offset
        if position < 0:
            raise ValueError(f"cannot seek to {position}, before the first byte")
        self._position = position
        return position

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        if self.closed:
            raise ValueError(f"{self._key} is closed")
        data = self._store.get(self._key, self._position, wanted) if wanted else b""
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


def _open_plug_in(scheme: str, location: str) -> Store:
    from ..plugins import registry

    known = sorted({"file", "memory", *registry.names("stepwatch.stores")})
    if scheme not in known:
        raise ConfigError(
            f"no store is installed for {scheme}:// of {location}; "
            f"there are {', '.join(known)}{nearest(scheme, known)}"
        )
    # By the contract of the group; what breaks it fails at its first use.
    make = cast("Callable[[str], Store]", registry.load("stepwatch.stores", scheme))
    return make(location)


#: Larger values go in pieces of this size, of which some travel at the same time. What is held
#: in memory beyond the value is so much for each of them.
PIECE_BYTES = 8 << 20


class Pieces(Sequence[bytes]):
    """A value as pieces of ``PIECE_BYTES``, read on access.

    Args:
        size: The size of the value, bytes.
        read: ``read(start, length)`` returns bytes of it, fewer at its end.

    Example:
        >>> len(Pieces(0, lambda start, length: b"")), len(Pieces(PIECE_BYTES + 1, lambda *_: b""))
        (1, 2)
    """

    def __init__(self, size: int, read: Callable[[int, int], bytes]) -> None:
        self._size, self._read = size, read

    def __len__(self) -> int:
        return max(1, -(-self._size // PIECE_BYTES))

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._read(index * PIECE_BYTES, PIECE_BYTES)


def pieces_of_value(store: Store, key: str, size: int) -> Pieces:
    """Return the pieces of what lies in a store."""
    return Pieces(size, lambda start, length: store.get(key, start, length))


def pieces_of_file(file: IO[bytes]) -> Pieces:
    """Return the pieces of an open file; where it stands does not matter."""

    def read(start: int, length: int) -> bytes:
        file.seek(start)
        return file.read(length)

    return Pieces(file.seek(0, os.SEEK_END), read)
