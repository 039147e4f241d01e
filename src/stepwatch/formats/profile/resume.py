"""Takes a worker's intervals up again, where its training goes on at an earlier step.

As with observations what replaces a part appears before that goes, and no key ever held another
value; to do it twice does no harm.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import CorruptRun
from ...store import Store
from .layout import PartKey, parse_part, parts_prefix
from .parts import read_part, write_part
from .tables import SPANS


def cut(store: Store, worker: str, first: int) -> None:
    """Remove what a worker did from the moment on at which it first began global step ``first``."""
    parts = _parts(store, worker)
    again = 1 + max((key.range.again for key in parts), default=0)
    began_ns = min((_began_ns(rows, first) for rows in parts.values()), default=0)
    for key in sorted(parts, key=lambda key: -key.range.last):
        rows = parts[key]
        kept = rows.filter(pc.less(rows.column("start_ns"), began_ns))
        if len(kept) < len(rows):
            if len(kept):
                write_part(store, SPANS, kept, key.range._replace(again=again))
            store.delete(str(key))


def _parts(store: Store, worker: str) -> dict[PartKey, pa.Table]:
    """Return the rows of all parts, also of those that lie within another; but damaged ones."""
    found = {}
    for text in store.list(parts_prefix(SPANS.name, worker)):
        key = parse_part(SPANS.name, text)
        if key is not None:
            with suppress(FileNotFoundError, CorruptRun):
                found[key] = read_part(store, SPANS, key)
    return found


def _began_ns(rows: pa.Table, step: int) -> int:
    """Return when the first interval of this step or a later one began."""
    is_later = rows.column("step").to_numpy() >= step
    starts = rows.column("start_ns").to_numpy()[is_later]
    return int(starts.min(initial=np.iinfo(np.int64).max))
