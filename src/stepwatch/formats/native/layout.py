"""Where things lie in a run: the keys of the native format."""

from __future__ import annotations

import re
from typing import NamedTuple

OBSERVATIONS = "observations/"
TENSORS = "tensors/"
# Room that a worker holds for its last note, and gives back just before it.
RESERVE = "reserve/"

_SPAN = re.compile(r"([^/]+)/(\d+)-(\d+)\.[a-z]+$")


class Span(NamedTuple):
    """What the key of a part says: whose steps it holds, from the first to the last."""

    worker: str
    first: int
    last: int


def observations_key(span: Span) -> str:
    """Return the key of a part of observations.

    Example:
        >>> observations_key(Span("worker_0", 0, 99))
        'observations/worker_0/000000000000-000000000099.parquet'
    """
    return f"{OBSERVATIONS}{_name(span)}.parquet"


def tensors_key(span: Span) -> str:
    """Return the key of a part of raw values."""
    return f"{TENSORS}{_name(span)}.safetensors"


def parse_span(key: str) -> Span | None:
    """Return what the key of a part says, or ``None`` for another key."""
    match = _SPAN.search(key)
    return Span(match[1], int(match[2]), int(match[3])) if match else None


def _name(span: Span) -> str:
    # Twelve digits, so that the order of keys is the order of steps.
    return f"{span.worker}/{span.first:012d}-{span.last:012d}"
