"""Where things lie in a run: the keys of the native format."""

from __future__ import annotations

import re
from typing import NamedTuple

OBSERVATIONS = "observations/"
TENSORS = "tensors/"
CONTENTS = "contents/"
# Room that a worker holds for its last note, and gives back just before it.
RESERVE = "reserve/"

_SPAN = re.compile(r"([^/]+)/(\d+)-(\d+)(?:-(\d+))?\.[a-z]+$")


class Span(NamedTuple):
    """What the key of a part says: whose steps it holds, from the first to the last.

    ``again`` is how often the run had been taken up again when it was written, so that no part
    has the key of one that was there before and held other values.
    """

    worker: str
    first: int
    last: int
    again: int = 0


def observations_key(span: Span) -> str:
    """Return the key of a part of observations.

    Example:
        >>> observations_key(Span("worker_0", 0, 99))
        'observations/worker_0/000000000000-000000000099.parquet'
        >>> observations_key(Span("worker_0", 50, 99, again=1))
        'observations/worker_0/000000000050-000000000099-1.parquet'
    """
    return f"{OBSERVATIONS}{_name(span)}.parquet"


def tensors_key(span: Span) -> str:
    """Return the key of a part of raw values."""
    return f"{TENSORS}{_name(span)}.safetensors"


def contents_key(span: Span) -> str:
    """Return the key of the page of contents that begins with this part.

    Example:
        >>> contents_key(Span("worker_0", 0, 99))
        'contents/worker_0/000000000000.json'
    """
    return f"{CONTENTS}{span.worker}/{span.first:012d}.json"


def parse_span(key: str) -> Span | None:
    """Return what the key of a part says, or ``None`` for another key."""
    match = _SPAN.search(key)
    return Span(match[1], *(int(number or 0) for number in match.groups()[1:])) if match else None


def _name(span: Span) -> str:
    # Twelve digits, so that the order of keys is the order of steps.
    again = f"-{span.again}" if span.again else ""
    return f"{span.worker}/{span.first:012d}-{span.last:012d}{again}"
