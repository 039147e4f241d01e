"""Which process writes as which worker (``workers/``).

``run.json`` says it of the process that began the run. Each other leaves a note when it joins, so
that a reader notices when one of them is gone.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass

from ..errors import CorruptRun
from ..process import may_run
from ..store import Store
from .manifest import Manifest
from .notes import RUN_KEY, WORKERS, worker_key


@dataclass(frozen=True, slots=True)
class Process:
    """A process that writes to a run.

    Args:
        host: The machine it runs on.
        pid: Its number there.
        process: Its ``process.identity``.
    """

    host: str
    pid: int
    process: str

    @classmethod
    def of(cls, manifest: Manifest) -> Process:
        """Return the process that a manifest names."""
        return cls(manifest.host, manifest.pid, manifest.process)

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host == socket.gethostname()

    def may_run(self) -> bool:
        """Return whether it may still run; ``True`` if we cannot know."""
        return may_run(self.host, self.pid, self.process)


def are_several(store: Store) -> bool:
    """Return whether several workers write to a run; asked by one that has joined it."""
    try:
        return Manifest.from_json(RUN_KEY, store.get(RUN_KEY)).num_workers > 1
    except FileNotFoundError:
        return True  # who joined is not the first, and that one is not there yet


def write_process(store: Store, worker: str, process: Process) -> None:
    """Leave the note of a worker that joins a run."""
    store.put(worker_key(worker), json.dumps(asdict(process), indent=1).encode())


def read_processes(store: Store) -> dict[str, Process]:
    """Return the processes that joined a run, by worker."""
    notes = [key for key in store.list(WORKERS) if key.endswith(".json")]
    return {note[len(WORKERS) : -len(".json")]: _read(store, note) for note in notes}


def _read(store: Store, key: str) -> Process:
    try:
        values = json.loads(store.get(key))
        return Process(str(values["host"]), int(values["pid"]), str(values["process"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptRun(key, 0, f"not the note of a worker ({error!r})") from None
