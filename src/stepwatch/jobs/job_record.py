"""What is noted of a job: values, as they come from the records."""

from __future__ import annotations

from dataclasses import dataclass

from .spec import JobSpec

ENDED = ("Completed", "Failed", "Stopped")


@dataclass(frozen=True, slots=True)
class Transition:
    """A stretch of a job's life.

    Args:
        status: The secondary status, such as ``Training``.
        message: In words.
        started_ns: Nanoseconds since the Unix epoch.
        ended_ns: ``None`` while it lasts.
    """

    status: str
    message: str
    started_ns: int
    ended_ns: int | None


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """How a rule of a job stands.

    Args:
        name: As the job calls it.
        status: ``InProgress``, ``NoIssuesFound``, ``IssuesFound``, ``NotEvaluated``, ``Error``,
            ``Stopping`` or ``Stopped``.
        details: Why, or what it found first.
        changed_ns: When that was noted, nanoseconds since the Unix epoch.
    """

    name: str
    status: str
    details: str
    changed_ns: int


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process of a job; see ``stepwatch.process``.

    Args:
        role: ``runner``, ``algo-1`` …, or ``rule-0`` ….
        host: The machine.
        pid: Its number there; it leads a process group of its own.
        identity: By which it is known again.
    """

    role: str
    host: str
    pid: int
    identity: str


@dataclass(frozen=True, slots=True)
class Overview:
    """What a list says of a job.

    Args:
        name: Of it.
        status: As in ``JobRecord``.
        secondary: What it is at.
        created_ns: When it was submitted, nanoseconds since the Unix epoch.
        ended_ns: When it ended; ``None`` before.
        changed_ns: When it last came to another stretch of its life.
    """

    name: str
    status: str
    secondary: str
    created_ns: int
    ended_ns: int | None
    changed_ns: int


@dataclass(frozen=True, slots=True)
class JobRecord:
    """All that is noted of a job.

    Args:
        spec: What it is to do.
        status: ``InProgress``, ``Stopping``, ``Completed``, ``Failed`` or ``Stopped``.
        secondary: What it is at.
        created_ns: When it was submitted, nanoseconds since the Unix epoch.
        started_ns: When training began; ``None`` before.
        ended_ns: When the job ended; ``None`` before.
        exit_code: Of the training; ``None`` before it ended.
        failure: Why it failed, at most 1,024 characters.
        stop_asked: Why it is to stop; ``None`` if nobody asked.
        transitions: What it went through, in order.
        rules: How each of its rules stands, in order.
    """

    spec: JobSpec
    status: str
    secondary: str
    created_ns: int
    started_ns: int | None
    ended_ns: int | None
    exit_code: int | None
    failure: str
    stop_asked: str | None
    transitions: tuple[Transition, ...]
    rules: tuple[RuleRecord, ...]

    @property
    def changed_ns(self) -> int:
        """When it last came to another stretch of its life, nanoseconds since the Unix epoch."""
        return self.transitions[-1].started_ns

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ENDED
