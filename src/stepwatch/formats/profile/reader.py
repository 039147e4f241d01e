"""Reads a profile, while it is being written or years later, and the notes on its machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Protocol

import pyarrow as pa

from ...errors import CorruptRun
from ...model.json_text import parse_json
from ...numerics.columns import empty, sort_rows
from ...runtime.process import may_run
from ...store import Store
from .parts import MACHINES, PYTHON, TRACES, PartKey, list_parts, machine_key, read_part
from .tables import SPANS, SYSTEM, Table


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine is, and who reads its devices.

    Args:
        node: Its name.
        host: The name that it has for itself.
        pid: The process that reads.
        process: Its ``process.identity``.
        started_ns: When it began, nanoseconds since the Unix epoch.
        interval_ms: How often it reads.
        cores: How many processors there are.
        memory_bytes: How much memory.
        gpus: The names of the accelerators.
        notes: What is not read, and why; what else is to be said.
        ended_ns: When it was done; ``None`` if it did not say so.
    """

    node: str
    host: str = ""
    pid: int = 0
    process: str = ""
    started_ns: int = 0
    interval_ms: int = 0
    cores: int = 0
    memory_bytes: int = 0
    gpus: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ended_ns: int | None = None

    @property
    def was_killed(self) -> bool:
        """Whether the process that read is gone and left no note of its end."""
        return self.ended_ns is None and not may_run(self.host, self.pid, self.process)


def write_machine(store: Store, machine: Machine) -> None:
    store.put(machine_key(machine.node), json.dumps(asdict(machine), indent=1).encode())


def read_machines(store: Store) -> dict[str, Machine]:
    """Return the machines of a run, by name.

    Raises:
        CorruptRun: One of the notes is none.
    """
    found = [_read_machine(store, key) for key in store.list(MACHINES) if key.endswith(".json")]
    return {machine.node: machine for machine in found}


def _read_machine(store: Store, key: str) -> Machine:
    try:
        values = parse_json(store.get(key))
        known = {one.name: values[one.name] for one in fields(Machine) if one.name in values}
        known |= {name: tuple(known.get(name, ())) for name in ("gpus", "notes")}
        return Machine(**known)
    except (AttributeError, TypeError, ValueError) as error:
        raise CorruptRun(key, 0, f"not the note of a machine ({error!r})") from None


class ProfileReader(Protocol):
    """Reads the profile of a run, in whatever format it lies; each call reads what is there then.

    What is damaged is left out, and named by ``notes``.
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
        try:
            return read_machines(self._store)
        except CorruptRun as error:
            self._damaged[MACHINES] = str(error)
            return {}

    def workers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key.range.worker for key in list_parts(self._store, SPANS)))

    def bounds(self) -> tuple[int, int] | None:
        keys = [key for table in (SYSTEM, SPANS) for key in list_parts(self._store, table)]
        if not keys:
            return None
        first, last = min(key.first_ms for key in keys), max(key.last_ms for key in keys)
        return first * 1_000_000, (last + 1) * 1_000_000

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
        return self._read(SYSTEM, lambda key: key.overlaps(start_ns, end_ns))

    def spans(
        self, start_ns: int | None = None, end_ns: int | None = None, worker: str | None = None
    ) -> pa.Table:
        def wants(key: PartKey) -> bool:
            return worker in (None, key.range.worker) and key.overlaps(start_ns, end_ns)

        return self._read(SPANS, wants)

    def traces(self) -> list[str]:
        return [*self._store.list(TRACES), *self._store.list(PYTHON)]

    def notes(self) -> list[str]:
        machines = self.machines().values()
        noted = [f"{one.node}: {note}" for one in machines for note in one.notes]
        killed = [
            f"{one.node}: who read its devices is gone without a word; nothing is known after that"
            for one in machines
            if one.was_killed
        ]
        return [*noted, *killed, *self._damaged.values()]

    def _read(self, table: Table, wants: Callable[[PartKey], bool]) -> pa.Table:
        while True:
            wanted = filter(wants, list_parts(self._store, table))
            try:
                found = [self._part(table, key) for key in wanted]
            except FileNotFoundError:
                continue  # merged meanwhile: what replaced it is there
            rows = pa.concat_tables([empty(table.schema), *found]).unify_dictionaries()
            return sort_rows(rows, table.time)

    def _part(self, table: Table, key: PartKey) -> pa.Table:
        try:
            return read_part(self._store, table, key)
        except CorruptRun as error:
            self._damaged[str(key)] = str(error)
            return empty(table.schema)
