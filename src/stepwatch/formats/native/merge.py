"""Merging parts: few large ones instead of many small ones.

Ten parts become one, ten of those become one again, so that the number of parts grows with
the logarithm of the run. A merged part is clustered by tensor, then step: one tensor's series
lies together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ...store import Store
from .layout import Span, observations_key
from .observations import join_ranges
from .parts import Part, PartMeta, write_part

FAN_IN = 10
# A merge holds this many rows in memory (about 100 bytes each); a part that large stays as it is.
ROW_LIMIT = 500_000


def merge_parts(store: Store, parts: Sequence[Part]) -> Span:
    """Replace consecutive parts of one worker by one part that holds the same rows."""
    table = pa.concat_tables([part.read() for part in parts]).unify_dictionaries().combine_chunks()
    names = table.column("tensor").combine_chunks()
    by_name = np.argsort(np.argsort(np.array(names.dictionary.to_pylist(), object)))
    order = np.lexsort((table.column("step").to_numpy(), by_name[names.indices.to_numpy()]))
    ranges = join_ranges(range_ for part in parts for range_ in part.meta.ranges)
    merged = Span(parts[0].span.worker, parts[0].span.first, parts[-1].span.last)
    meta = PartMeta(parts[0].meta.follows, tuple(ranges))
    write_part(store, merged, table.take(pa.array(order)), meta, clustered=True)
    for part in parts:
        store.delete(observations_key(part.span))
    return merged


def compact(store: Store, parts: Sequence[Part]) -> int:
    """Merge all of a worker's parts up to the row limit; return how many parts are left."""
    left, batch, rows = 0, list[Part](), 0
    for part in [*parts, None]:
        if part is None or (batch and rows + part.num_rows > ROW_LIMIT):
            if len(batch) > 1:
                merge_parts(store, batch)
            left += bool(batch)
            batch, rows = [], 0
        if part is not None:
            batch.append(part)
            rows += part.num_rows
    return left
