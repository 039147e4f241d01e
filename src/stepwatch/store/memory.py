"""Runs in the memory of this process, for tests and for rules without a disk.

Values are only ever added, replaced or removed whole, each by one atomic call of a dictionary.
No lock is needed, so none can be held while a process forks.
"""

from __future__ import annotations

import builtins

from ..errors import ConfigError
from . import BytesLike, check_key, check_prefix, check_range, scheme_of

_VALUES: dict[str, dict[str, memoryview]] = {}


class MemoryStore:
    """A store that is gone with the process. All of one name share their values.

    Args:
        name: The name, or ``memory://name``.

    Example:
        >>> MemoryStore("example").create("run.json", b"{}")
        True
        >>> MemoryStore("memory://example").list()
        ['run.json']
    """

    def __init__(self, name: str) -> None:
        self._name = name[len("memory://") :] if scheme_of(name) == "memory" else name
        if not self._name:
            raise ConfigError("a memory store needs a name, such as memory://mine")
        self._values = _VALUES.setdefault(self._name, {})

    @property
    def url(self) -> str:
        return f"memory://{self._name}"

    def put(self, key: str, data: BytesLike) -> None:
        check_key(key)
        self._values[key] = memoryview(bytes(data))

    def create(self, key: str, data: BytesLike) -> bool:
        check_key(key)
        # A view is a new object even of the same bytes, so identity tells who won.
        mine = memoryview(bytes(data))
        return self._values.setdefault(key, mine) is mine

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        check_range(start, length)
        end = None if length is None else start + length
        return bytes(self._value(key)[start:end])

    def size(self, key: str) -> int:
        return len(self._value(key))

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        check_prefix(prefix)
        keys = tuple(self._values)
        return sorted(key for key in keys if key > after and key.startswith(prefix))

    def delete(self, key: str) -> None:
        check_key(key)
        self._values.pop(key, None)

    def _value(self, key: str) -> memoryview:
        check_key(key)
        value = self._values.get(key)
        if value is None:
            raise FileNotFoundError(f"no {key} in {self.url}")
        return value
