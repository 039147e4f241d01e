"""Reads a profile, while it is being written or years later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from ...errors import CorruptRun
from ...store import Store
from .layout import MACHINES, PYTHON, TRACES, PartKey
from .machine import Machine, read_machines
from .parts import list_parts, read_part
from .tables import SPANS, SYSTEM, Table


class ProfileReader(Protocol):
    """Reads the profile of a run, in whatever format it lies; each call sees what is there then.

    What is damaged is left out, and told by ``notes``.
    """

    def machines(self) -> dict[str, Machine]:
        """Return what is known of each machine, by name."""

    def workers(self) -> tuple[str, ...]:
        """Return who wrote intervals so far."""

    def bounds(self) -> tuple[int, int] | None:
        """Return when the first row begins and, at the latest, the last ends; ``None`` for none."""

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
        """Return readings from ``start_ns`` on and before ``end_ns``, as ``tables.SYSTEM``.

        More may come where that costs nothing.
        """

    def spans(
        self, start_ns: int | None = None, end_ns: int | None = None, worker: str | None = None
    ) -> pa.Table:
        """Return intervals that meet this time, as ``tables.SPANS``; more may come."""

    def traces(self) -> list[str]:
        """Return the keys of the traces of windows."""

    def notes(self) -> list[str]:
        """Return what is to be said of the profile, what was damaged so far included."""


class NativeProfileReader:
    """Reads what Stepwatch wrote.

    Args:
        store: Where the run lies; it need not have a profile.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._damaged: dict[str, str] = {}

    def machines(self) -> dict[str, Machine]:
        """Return what is known of each machine, by name."""
        try:
            return read_machines(self._store)
        except CorruptRun as error:
            self._damaged[MACHINES] = str(error)
            return {}

    def workers(self) -> tuple[str, ...]:
        """Return who wrote intervals so far."""
        return tuple(dict.fromkeys(key.range.worker for key in list_parts(self._store, SPANS)))

    def bounds(self) -> tuple[int, int] | None:
        """Return when the first row begins and the last ends, to the millisecond."""
        keys = [key for table in (SYSTEM, SPANS) for key in list_parts(self._store, table)]
        if not keys:
            return None
        first, last = min(key.first_ms for key in keys), max(key.last_ms for key in keys)
        return first * 1_000_000, (last + 1) * 1_000_000

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
        """Return readings of a time; see ``ProfileReader``."""
        return self._read(SYSTEM, lambda key: key.meets(start_ns, end_ns))

    def spans(
        self, start_ns: int | None = None, end_ns: int | None = None, worker: str | None = None
    ) -> pa.Table:
        """Return intervals of a time; see ``ProfileReader``."""

        def wants(key: PartKey) -> bool:
            return worker in (None, key.range.worker) and key.meets(start_ns, end_ns)

        return self._read(SPANS, wants)

    def traces(self) -> list[str]:
        """Return the keys of what was recorded in detail."""
        return [*self._store.list(TRACES), *self._store.list(PYTHON)]

    def notes(self) -> list[str]:
        """Return what is to be said of the profile."""
        machines = self.machines().values()
        said = [f"{one.node}: {note}" for one in machines for note in one.notes]
        killed = [
            f"{one.node}: who read its devices is gone without a word; nothing is known after that"
            for one in machines
            if one.was_killed
        ]
        return [*said, *killed, *self._damaged.values()]

    def _read(self, table: Table, wants: Callable[[PartKey], bool]) -> pa.Table:
        while True:
            wanted = filter(wants, list_parts(self._store, table))
            try:
                found = [self._part(table, key) for key in wanted]
            except FileNotFoundError:
                continue  # merged meanwhile: what replaced it is there
            rows = pa.concat_tables([table.schema.empty_table(), *found]).unify_dictionaries()
            return rows.sort_by([(table.time, "ascending")])

    def _part(self, table: Table, key: PartKey) -> pa.Table:
        try:
            return read_part(self._store, table, key)
        except CorruptRun as error:
            self._damaged[str(key)] = str(error)
            return table.schema.empty_table()
