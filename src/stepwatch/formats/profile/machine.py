"""What a machine is, and who reads its devices (``profile/machines/``)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from ...errors import CorruptRun
from ...process import may_run
from ...store import Store
from .layout import MACHINES, machine_key


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
        """Whether who read is gone without a word."""
        return self.ended_ns is None and not may_run(self.host, self.pid, self.process)


def write_machine(store: Store, machine: Machine) -> None:
    """Store what is known of a machine."""
    store.put(machine_key(machine.node), json.dumps(asdict(machine), indent=1).encode())


def read_machines(store: Store) -> dict[str, Machine]:
    """Return the machines of a run, by name.

    Raises:
        CorruptRun: One of the notes is none.
    """
    found = [_read(store, key) for key in store.list(MACHINES) if key.endswith(".json")]
    return {machine.node: machine for machine in found}


def _read(store: Store, key: str) -> Machine:
    try:
        values = json.loads(store.get(key))
        known = {one.name: values[one.name] for one in fields(Machine) if one.name in values}
        known |= {name: tuple(known.get(name, ())) for name in ("gpus", "notes")}
        return Machine(**known)
    except (AttributeError, TypeError, ValueError) as error:
        raise CorruptRun(key, 0, f"not the note of a machine ({error!r})") from None
