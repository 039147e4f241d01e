"""What a run is (``run.json``) and how each worker's part of it ended (``end/``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from ...collection import Collection
from ...errors import CorruptRun
from ...save_policy import SavePolicy, Schedule

VERSION = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run is; written once, before its first step.

    Args:
        run_id: A name that no other run has.
        started_ns: When it began, nanoseconds since the Unix epoch.
        command: The script and its arguments.
        host: The machine that started it.
        pid: The process that started it.
        num_workers: How many processes write to it.
        versions: Versions of Python, Stepwatch and the frameworks.
        collections: What was asked to be saved beyond the defaults.
    """

    run_id: str
    started_ns: int
    command: tuple[str, ...] = ()
    host: str = ""
    pid: int = 0
    num_workers: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)
    collections: tuple[Collection, ...] = ()

    def to_json(self) -> bytes:
        """Return the manifest as the JSON of ``run.json``."""
        fields = {"format": "stepwatch", "version": VERSION, **asdict(self)}
        return json.dumps(fields, indent=1, default=sorted).encode()

    @classmethod
    def from_json(cls, key: str, data: bytes) -> Manifest:
        """Return what ``to_json`` wrote.

        Raises:
            CorruptRun: It is no manifest, or of a version that is newer than this reader.
        """
        try:
            fields = json.loads(data)
            kind, version = fields.pop("format"), fields.pop("version")
            if kind != "stepwatch" or version > VERSION:
                raise CorruptRun(key, 0, f"format {kind!r} version {version}, not {VERSION}")
            fields["collections"] = tuple(map(_collection, fields["collections"]))
            fields["command"] = tuple(fields["command"])
            return cls(**fields)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, CorruptRun):
                raise
            raise CorruptRun(key, 0, f"not a manifest ({error!r})") from None


def _collection(fields: dict[str, object]) -> Collection:
    policy: dict[str, object] = fields["policy"]  # type: ignore[assignment]
    return Collection(
        str(fields["name"]),
        tuple(fields["patterns"]),  # type: ignore[arg-type]
        SavePolicy(_schedule(policy["statistics"]), _schedule(policy["raw"])),
    )


def _schedule(fields: object) -> Schedule | None:
    if fields is None:
        return None
    values: dict[str, object] = dict(fields)  # type: ignore[call-overload]
    return Schedule(**{**values, "steps": frozenset(values["steps"])})  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class End:
    """How a worker's part of a run ended.

    Args:
        state: ``finished``, ``failed`` (an exception), ``stopped`` (a finding) or
            ``interrupted`` (Ctrl-C).
        ended_ns: When, nanoseconds since the Unix epoch.
        steps: How many steps were recorded.
        dropped: How many of them are not stored, because the store was too slow.
        failures: How many times storing failed.
        error: The first failure, or the exception that ended training.
        coverage: The coverage line.
    """

    state: str
    ended_ns: int
    steps: int = 0
    dropped: int = 0
    failures: int = 0
    error: str = ""
    coverage: str = ""

    def to_json(self) -> bytes:
        """Return the note as JSON."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def from_json(cls, key: str, data: bytes) -> End:
        """Return what ``to_json`` wrote."""
        try:
            return cls(**json.loads(data))
        except (TypeError, ValueError) as error:
            raise CorruptRun(key, 0, f"not an end note ({error})") from None
