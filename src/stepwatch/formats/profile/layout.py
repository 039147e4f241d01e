"""The keys of a profile."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..native.layout import Span as Range

PROFILE = "profile/"
MACHINES = f"{PROFILE}machines/"
# What the sampler writes, a process of its own.
SAMPLED = (f"{PROFILE}system/", MACHINES)
# Whoever puts something there asks for it to be profiled from then on.
CONFIG_KEY = f"{PROFILE}profilerconfig.json"
TRACES = f"{PROFILE}traces/"
PYTHON = f"{PROFILE}python/"

_PART = re.compile(r"profile/[a-z]+/([^/]+)/(\d+)-(\d+)(?:-(\d+))?_(\d+)-(\d+)\.parquet")


@dataclass(frozen=True, slots=True)
class PartKey:
    """What the key of a part says, so that a reader need not open those that it does not want.

    Args:
        table: The name of its table.
        range: Whose it is, and which parts it holds, counted as they were first written; and how
            often its worker's had been taken up again when it was written.
        first_ms: No row is from before; milliseconds since the Unix epoch.
        last_ms: No row ends after.
    """

    table: str
    range: Range
    first_ms: int
    last_ms: int

    def __str__(self) -> str:
        who, first, last, again = self.range
        range_ = f"{first:012d}-{last:012d}" + (f"-{again}" if again else "")
        return f"{PROFILE}{self.table}/{who}/{range_}_{self.first_ms}-{self.last_ms}.parquet"

    def meets(self, start_ns: int | None, end_ns: int | None) -> bool:
        """Return whether it may hold something from ``start_ns`` on and before ``end_ns``."""
        begins = end_ns is None or self.first_ms * 1_000_000 < end_ns
        return begins and (start_ns is None or (self.last_ms + 1) * 1_000_000 > start_ns)


def parse_part(table: str, key: str) -> PartKey | None:
    """Return what the key of a part of a table says, ``None`` for another key.

    Example:
        >>> parse_part("system", "profile/system/here/000000000000-000000000009_5-25.parquet").range
        Span(worker='here', first=0, last=9, again=0)
    """
    match = _PART.fullmatch(key)
    if match is None:
        return None
    first, last, again, first_ms, last_ms = (int(number or 0) for number in match.groups()[1:])
    return PartKey(table, Range(match[1], first, last, again), first_ms, last_ms)


def parts_prefix(table: str, who: str = "") -> str:
    """Return what the keys of the parts of a table begin with; those of one machine or worker."""
    return f"{PROFILE}{table}/{who}/" if who else f"{PROFILE}{table}/"


def machine_key(node: str) -> str:
    """Return the key of the note that says what a machine is."""
    return f"{MACHINES}{node}.json"


def node_name(host: str) -> str:
    """Return the name of a machine as it may stand in a key.

    Example:
        >>> node_name("gpu-7.example.org"), node_name("a b/c"), node_name("")
        ('gpu-7.example.org', 'a_b_c', 'machine')
    """
    return re.sub(r"[^\w.-]", "_", host).strip(".") or "machine"


def trace_key(first: int, last: int, rank: int, suffix: str = ".json.gz") -> str:
    """Return the key of the trace of some steps of one worker.

    One folder holds one file for each rank, as Holistic Trace Analysis wants to find them.

    Example:
        >>> trace_key(5, 7, 0)
        'profile/traces/steps_000000000005-000000000007/rank0.json.gz'
    """
    return f"{TRACES}{_steps(first, last)}/rank{rank}{suffix}"


def python_key(first: int, last: int, rank: int, suffix: str) -> str:
    """Return the key of what the functions of Python took in some steps of one worker."""
    return f"{PYTHON}{_steps(first, last)}/rank{rank}{suffix}"


def _steps(first: int, last: int) -> str:
    return f"steps_{first:012d}-{last:012d}"
