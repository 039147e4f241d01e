"""What a run is and who writes it: the keys and notes that all formats share.

``run.json`` says what the run is, and which process began it; each other process leaves a note in
``workers/`` when it joins, so that a reader notices when one of them is gone; ``end/`` says how
each worker's part ended.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..errors import CorruptRun
from ..model.collection import Collection
from ..model.json_text import parse_json
from ..model.save_policy import SavePolicy, Schedule
from ..runtime.process import identity, may_run
from ..store import Store

RUN_KEY = "run.json"
FINDINGS = "findings/"
END = "end/"
WORKERS = "workers/"
ACTIONS_SUFFIX = ".actions.jsonl"
#: The worker that begins a run; the others join it.
FIRST_WORKER = "worker_0"


def worker_in_key(worker: str) -> str:
    """Return the name of a worker as it stands in keys.

    That of a device is spelt without its slashes and colons, as by smdebug.

    Example:
        >>> worker_in_key("/job:worker/replica:0"), worker_in_key("worker_0")
        ('_job-worker_replica-0', 'worker_0')
    """
    return worker.replace("/", "_").replace(":", "-") if worker.startswith("/") else worker


def worker_from_key(name: str) -> str:
    """Return the name of a worker of which ``name`` stands in keys."""
    return name.replace("_", "/").replace("-", ":") if name.startswith("_") else name


def findings_key(who: str) -> str:
    """Return the key of the findings of one watcher, such as a worker."""
    return f"{FINDINGS}{who}.jsonl"


def statuses_key(who: str) -> str:
    """Return the key of the rule statuses of one watcher."""
    return f"{FINDINGS}{who}.statuses.json"


def actions_key(who: str) -> str:
    """Return the key of what was done about the findings of one watcher."""
    return f"{FINDINGS}{who}{ACTIONS_SUFFIX}"


def end_key(worker: str) -> str:
    """Return the key of the note that a worker leaves when its run ends."""
    return f"{END}{worker_in_key(worker)}.json"


def worker_key(worker: str) -> str:
    """Return the key of the note that says which process a worker is."""
    return f"{WORKERS}{worker_in_key(worker)}.json"


VERSION = 1
# A note that is longer was not written by us; what is cut off is no JSON.
_MOST_BYTES = 16 << 20
# The year 2262 in nanoseconds, and more processes than there are.
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run is; written once, before its first step.

    Args:
        run_id: A name that no other run has.
        started_ns: When it began, nanoseconds since the Unix epoch.
        command: The script and its arguments.
        host: The machine that started it.
        pid: The process that started it.
        process: Its ``process.identity``.
        num_workers: How many processes write to it.
        versions: Versions of Python, Stepwatch and the frameworks.
        collections: What was requested beyond the defaults.
        run_format: How the observations lie: ``native`` or ``smdebug``.
        debugger_collections: The collections file of a run that a hook configuration of
            SageMaker Debugger configured; empty for others.
        folder: The working directory of the process that started it.
        script_sha256: The SHA-256 of the script's file then; empty if it is no file.
        resumes: The global step at which it was resumed, each time.
    """

    run_id: str
    started_ns: int
    command: tuple[str, ...] = ()
    host: str = ""
    pid: int = 0
    process: str = ""
    num_workers: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)
    collections: tuple[Collection, ...] = ()
    run_format: str = "native"
    debugger_collections: Mapping[str, object] = field(default_factory=dict)
    folder: str = ""
    script_sha256: str = ""
    resumes: tuple[int, ...] = ()

    def to_json(self) -> bytes:
        values = {"format": "stepwatch", "version": VERSION, **asdict(self)}
        return json.dumps(values, indent=1, default=sorted).encode()

    @classmethod
    def from_json(cls, key: str, data: bytes) -> Manifest:
        """Return what ``to_json`` wrote.

        Raises:
            CorruptRun: It is no manifest, or of a version that is newer than this reader.
        """
        try:
            values = parse_json(data)
            kind, version = values["format"], int(values["version"])
            if kind == "stepwatch" and version <= VERSION:
                values["collections"] = tuple(map(_collection, values["collections"]))
                values["command"] = tuple(_texts(values["command"]))
                versions = values.get("versions", {})
                values["versions"] = dict(zip(versions, _texts(versions.values()), strict=True))
                values["resumes"] = tuple(map(int, values.get("resumes", ())))
                return cls(**_known(cls, values))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptRun(key, 0, f"not a manifest ({error!r})") from None
        if kind != "stepwatch":
            raise CorruptRun(key, 0, f"not a manifest (format {kind!r})")
        raise CorruptRun(
            key,
            0,
            f"a newer stepwatch wrote this run, in version {version} of the format; this one "
            f"reads up to version {VERSION}; run: pip install --upgrade stepwatch",
        )


def _known(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that this version knows; raise for numbers and texts that are none."""
    known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
    for one in fields(cls):
        wanted = {"int": int, "str": str}.get(str(one.type), object)
        value = known.get(one.name, one.default)
        if not isinstance(value, (wanted, type(MISSING))):
            raise TypeError(f"{one.name} is {value!r}")
        if isinstance(value, int) and abs(value) > _MOST:
            raise ValueError(f"{one.name} is {value}")
    return known


def _texts(values: Iterable[object]) -> Iterator[str]:
    """Yield texts; raise TypeError for what is none."""
    for one in values:
        if not isinstance(one, str):
            raise TypeError(f"{one!r} is no text")
        yield one


def _collection(values: dict[str, object]) -> Collection:
    policy: dict[str, object] = values["policy"]  # type: ignore[assignment]
    return Collection(
        str(values["name"]),
        tuple(values["patterns"]),  # type: ignore[arg-type]
        SavePolicy(**{one.name: _schedule(policy.get(one.name)) for one in fields(SavePolicy)}),
    )


def _schedule(fields: object) -> Schedule | None:
    if fields is None:
        return None
    values: dict[str, object] = dict(fields)  # type: ignore[call-overload]
    return Schedule(**{**values, "steps": frozenset(values["steps"])})  # type: ignore[call-overload]


#: What a line of coverage begins with that says at which steps all was measured.
FULL_STATISTICS = "full statistics at"


@dataclass(frozen=True, slots=True)
class End:
    """How a worker's part of a run ended.

    Args:
        state: ``finished``, ``failed`` (an exception), ``stopped`` (a finding) or
            ``interrupted`` (Ctrl-C).
        ended_ns: When, nanoseconds since the Unix epoch.
        steps: How many steps were recorded.
        dropped: How many of them are not stored, because the store was too slow or refused.
        failures: How many times storing, or a listener, failed.
        error: The first failure, or the exception that ended training.
        coverage: The coverage line.
        lost: What is not stored and why, in one line; empty for nothing.
        cost: How much longer the training took because it was observed, relative to its own time;
            measured where there is a budget, else ``None``.
        cost_s: How much longer that was, seconds.
        sources: Where in the script parts of the training were made, ``FILE:LINE``: by the name
            of a loss, ``optimizer``, and the name of a module after ``module/``. A module that is
            not there was made where the one was that holds it. Of the first worker only.
        traceback: The innermost frames of the exception that ended training, as Python prints
            them, ``""`` for none.
        counted: How many steps of each mode there were, with those of which nothing was observed.
    """

    state: str
    ended_ns: int
    steps: int = 0
    dropped: int = 0
    failures: int = 0
    error: str = ""
    coverage: str = ""
    lost: str = ""
    cost: float | None = None
    cost_s: float | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    traceback: str = ""
    counted: Mapping[str, int] = field(default_factory=dict)

    @property
    def sampling(self) -> str:
        """At which steps all was measured, as the budget left it; ``""`` for at every one."""
        parts = self.coverage.split("; ")
        often = next((part for part in parts if part.startswith(FULL_STATISTICS)), "")
        return often.partition(", ")[0]

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def from_json(cls, key: str, data: bytes) -> End:
        try:
            values = parse_json(data)
            sources = values.get("sources", {})
            values["sources"] = dict(zip(sources, _texts(sources.values()), strict=True))
            values["counted"] = {
                mode: operator.index(count) for mode, count in values.get("counted", {}).items()
            }
            return cls(**_known(cls, values))
        except (AttributeError, TypeError, ValueError) as error:
            raise CorruptRun(key, 0, f"not an end note ({error})") from None


def read_manifest(store: Store) -> Manifest | None:
    """Return what ``run.json`` says; ``None`` where there is none.

    Raises:
        CorruptRun: It is no manifest, or of a version that is newer than this reader.
    """
    try:
        return Manifest.from_json(RUN_KEY, store.get(RUN_KEY, 0, _MOST_BYTES))
    except FileNotFoundError:
        return None


def read_note(store: Store) -> bytes:
    """Return what ``run.json`` holds, to see whether it changed; nothing if there is none."""
    try:
        return store.get(RUN_KEY, 0, _MOST_BYTES)
    except FileNotFoundError:
        return b""


def read_ends(store: Store) -> dict[str, End]:
    """Return the end notes of a run, by worker."""
    return {
        name: End.from_json(key, store.get(key, 0, _MOST_BYTES)) for name, key in _notes(store, END)
    }


def _notes(store: Store, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield whom each note in a folder is about, and its key."""
    for key in store.list(prefix):
        if key.endswith(".json"):
            yield worker_from_key(key[len(prefix) : -len(".json")]), key


def working_folder() -> str:
    """Return the working directory; ``""`` where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def script_digest(command: Sequence[str], folder: str = "") -> str:
    """Return the SHA-256 of a script's file as hexadecimal digits; ``""`` if it is no file.

    Args:
        command: The script and its arguments.
        folder: Where a relative path begins; the working directory by default.
    """
    try:
        return hashlib.sha256(Path(folder, command[0]).read_bytes()).hexdigest()
    except (OSError, ValueError, IndexError):
        return ""  # a module, typed in, or deleted


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
        return cls(manifest.host, manifest.pid, manifest.process)

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return self.host == socket.gethostname()

    def may_run(self) -> bool:
        """Return whether it may still run; ``True`` if we cannot know."""
        return may_run(self.host, self.pid, self.process)

    def runs_here(self) -> bool:
        """Return whether it runs on this machine; ``False`` if we cannot know."""
        return self.is_here and bool(self.process) and identity(self.pid) == self.process


def are_several(store: Store) -> bool:
    """Return whether several workers write to a run, called by one that writes to it."""
    manifest = read_manifest(store)
    # who joined is not the first, and that one may not be there yet
    return manifest is None or manifest.num_workers > 1


def write_process(store: Store, worker: str, process: Process) -> None:
    store.put(worker_key(worker), json.dumps(asdict(process), indent=1).encode())


def read_processes(store: Store) -> dict[str, Process]:
    """Return the processes that joined a run, by worker."""
    return {name: _read_process(store, key) for name, key in _notes(store, WORKERS)}


def read_process(store: Store, worker: str) -> Process | None:
    """Return the process of a worker that joined a run; ``None`` if it left no note."""
    try:
        return _read_process(store, worker_key(worker))
    except FileNotFoundError:
        return None


def _read_process(store: Store, key: str) -> Process:
    try:
        values = parse_json(store.get(key, 0, _MOST_BYTES))
        return Process(str(values["host"]), int(values["pid"]), str(values["process"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptRun(key, 0, f"not the note of a worker ({error!r})") from None
