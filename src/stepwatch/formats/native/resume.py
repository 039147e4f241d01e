"""Takes a worker's part of a run up again at an earlier step.

What lies there from that step on goes, the last part first: who reads meanwhile sees the end come
nearer, and never a hole. To do it twice, or at the same time as another process, does no harm.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pyarrow.compute as pc

from ...store import Store
from ..step_range import StepRange
from .layout import OBSERVATIONS, TENSORS, Span, observations_key, parse_span, tensors_key
from .merge import by_tensor
from .part_meta import PartMeta
from .parts import Part, write_part


def cut(store: Store, worker: str, first: int) -> Span:
    """Remove what a worker stored of step ``first`` and all that follow.

    Returns:
        What the next part follows: its ``last`` is the last step that is kept, -1 for none, and
        ``again`` what new parts have.
    """
    spans = _spans(store, f"{OBSERVATIONS}{worker}/")
    blobs = _spans(store, f"{TENSORS}{worker}/")
    again = 1 + max((span.again for span in (*spans, *blobs)), default=0)
    doomed = [span for span in spans if span.last >= first]
    across = [span for span in doomed if span.first < first]
    if across:
        widest = max(across, key=lambda span: span.last - span.first)
        with suppress(FileNotFoundError):  # another process has done it
            spans.append(_shorten(store, widest, first, again))
    for span in sorted(doomed, key=lambda span: (-span.first, span.last)):
        store.delete(observations_key(span))
    for span in blobs:
        if span.first >= first:
            store.delete(tensors_key(span))
    last = max((span.last for span in spans if span.last < first), default=-1)
    return Span(worker, 0, last, again)


def _spans(store: Store, prefix: str) -> list[Span]:
    return [span for key in store.list(prefix) if (span := parse_span(key))]


def _shorten(store: Store, wide: Span, first: int, again: int) -> Span:
    """Write the rows of a part that are of earlier steps as a part of their own."""
    part = Part(store, wide)
    table = part.read()
    table = table.filter(pc.less(table.column("step"), first)).unify_dictionaries()
    kept = [range_ for one in part.meta.ranges if (range_ := _before(one, first))]
    span = wide._replace(last=max(range_.last for range_ in kept), again=again)
    meta = PartMeta(part.meta.follows, tuple(kept))
    write_part(store, span, by_tensor(table.combine_chunks()), meta, clustered=True)
    return span


def _before(range_: StepRange, first: int) -> StepRange | None:
    """Return the steps of a range that come before a step, if any do."""
    if range_.first >= first:
        return None
    count = range_.count if not range_.stride else -(-(first - range_.first) // range_.stride)
    return replace(range_, count=min(range_.count, count))
