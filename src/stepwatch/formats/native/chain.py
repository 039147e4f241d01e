"""The parts of each worker as a chain: of those that hold the same steps the widest counts.

Each part says which step its worker recorded before it, so that a part that is missing is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable

from .layout import Span
from .parts import Part


def widest(spans: Iterable[Span | None]) -> list[Span]:
    """Return the spans that lie within no other, by worker and step."""
    there = [span for span in spans if span is not None]
    found: list[Span] = []
    for span in sorted(there, key=lambda span: (_rank(span.worker), span.first, -span.last)):
        if not (found and covers(found[-1], span)):
            found.append(span)
    return found


def covers(wide: Span, span: Span) -> bool:
    """Return whether a span lies within another of the same worker."""
    same = wide.worker == span.worker
    return same and wide.first <= span.first and span.last <= wide.last


def find_holes(parts: Iterable[Part]) -> list[Span]:
    """Return where a part says that it follows a step that no part before it holds."""
    holes: list[Span] = []
    last: dict[str, int] = {}
    for part in parts:
        seen = last.get(part.span.worker, -1)
        if part.meta.follows != seen:
            holes.append(Span(part.span.worker, seen + 1, part.meta.follows))
        last[part.span.worker] = part.span.last
    return holes


def _rank(worker: str) -> tuple[int, str]:
    digits = worker.rpartition("_")[2]
    return (int(digits) if digits.isdigit() else 0, worker)
