"""Steps that a process that died had not stored yet, from its black box."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Sequence

from ..errors import ConfigError, StepwatchError
from ..model.record import StepRecord
from ..store import BytesLike, Store
from ..store.proxy import StoreProxy
from . import RunTarget, Selection, attach_writer
from .blackbox import read_records
from .interface import RunReader
from .manifest import FIRST_WORKER


class OverlayStore(StoreProxy):
    """A store before which lies what is kept in memory.

    Args:
        store: What lies below. What is set or deleted is so in memory while ``holds`` is true, and
            below from then on.

    Example:
        >>> from stepwatch.store import open_store
        >>> below = open_store("memory://below")
        >>> below.put("a", b"1")
        >>> over = OverlayStore(below)
        >>> over.put("b", b"2"), over.delete("a")
        (None, None)
        >>> over.list(), below.list()
        (['b'], ['a'])
        >>> over.persist()
        >>> below.list()
        ['b']
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._values: dict[str, bytes | None] = {}  # none where it is deleted
        #: Whether what is set from now on is kept in memory alone.
        self.holds = True

    def put(self, key: str, data: BytesLike) -> None:
        if self.holds:
            self._values[key] = bytes(data)
        else:
            self._store.put(key, data)
            self._values.pop(key, None)

    def put_parts(self, key: str, parts: Sequence[BytesLike]) -> None:
        self.put(key, b"".join(parts))

    def put_all(self, items: Sequence[tuple[str, BytesLike]]) -> int:
        for key, data in items:
            self.put(key, data)
        return len(items)

    def create(self, key: str, data: BytesLike) -> bool:
        is_new = key not in self.list(key)
        if is_new:
            self.put(key, data)
        return is_new

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        if key not in self._values:
            return self._store.get(key, start, length)
        end = None if length is None else start + length
        return self._value(key)[start:end]

    def size(self, key: str) -> int:
        return len(self._value(key)) if key in self._values else self._store.size(key)

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        here = {key for key in self._values if key > after and key.startswith(prefix)}
        below = set(self._store.list(prefix, after)) - here
        return sorted(below | {key for key in here if self._values[key] is not None})

    def delete(self, key: str) -> None:
        if self.holds:
            self._values[key] = None
        else:
            self._store.delete(key)
            self._values.pop(key, None)

    def persist(self) -> None:
        """Do below what was done in memory, in the order in which it was."""
        self.holds = False
        for key, value in list(self._values.items()):
            if value is None:
                self.delete(key)
            else:
                self.put(key, value)

    def _value(self, key: str) -> bytes:
        value = self._values[key]
        if value is None:
            raise FileNotFoundError(f"no {key} in {self.url}")
        return value


def with_black_box(store: Store, reader: RunReader) -> tuple[Store, int]:
    """Return the store of a run with what only its black box holds, and how many steps that is.

    Args:
        store: Of a run to which nobody writes any more.
        reader: Reads it.
    """
    unstored = _unstored(store, reader)
    over = OverlayStore(store)
    for worker, records in unstored.items():
        target = RunTarget(over, worker, reader.manifest, is_first=worker == FIRST_WORKER)
        try:
            writer = attach_writer(target, Selection(), first_step=records[0].step)
        except ConfigError:  # what writes this format is not installed
            return store, 0
        for record in records:
            writer.write(record)
        writer.flush()
    over.holds = False
    return (over, sum(map(len, unstored.values()))) if unstored else (store, 0)


def _unstored(store: Store, reader: RunReader) -> dict[str, builtins.list[StepRecord]]:
    """Return the steps that are only in black boxes, by worker, ascending."""
    last = {
        worker: max((one.last for one in reader.step_ranges(worker)), default=-1)
        for worker in reader.workers
    }
    try:
        records = read_records(store, last)
    except StepwatchError:
        return {}
    found: dict[str, builtins.list[StepRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.step):
        found[record.worker].append(record)
    return found
