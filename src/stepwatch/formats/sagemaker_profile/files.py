"""Files of rows, of which only those are read that meet a time.

Each is read once to learn from when to when it tells. A file that may still grow is read each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

import pyarrow as pa

from ..profile.tables import SPANS, Table

#: So many files are held as they were read.
HELD = 16


class Files:
    """The rows of the files of one table.

    Args:
        table: Which one.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._times: dict[str, tuple[int, int]] = {}
        self._held: OrderedDict[str, pa.Table] = OrderedDict()

    def rows(
        self,
        key: str,
        read: Callable[[], pa.Table],
        start_ns: int | None,
        end_ns: int | None,
        *,
        grows: bool,
    ) -> pa.Table:
        """Return the rows of a file; none, or all, where it does not meet the time.

        Args:
            key: Its key.
            read: Returns its rows.
            start_ns: The time begins here; ``None`` for no beginning.
            end_ns: The time ends before; ``None`` for no end.
            grows: Whether there may be more in it at the next call.
        """
        if grows:
            rows = read()
            self._times[key] = self._bounds(rows)
            return rows
        first, last = self._times.get(key, (start_ns or 0, end_ns or 0))
        if (end_ns is not None and first > end_ns) or (start_ns is not None and last < start_ns):
            return self._table.schema.empty_table()
        if key not in self._held:
            self._held[key] = read()
            self._times[key] = self._bounds(self._held[key])
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]

    def times(self) -> list[tuple[int, int]]:
        """Return from when to when each file tells that was read so far and has rows."""
        return [(first, last) for first, last in self._times.values() if first <= last]

    def join(self, tables: Iterable[pa.Table]) -> pa.Table:
        """Return the rows of several files, ascending by time."""
        rows = pa.concat_tables([self._table.schema.empty_table(), *tables]).unify_dictionaries()
        return rows.sort_by([(self._table.time, "ascending")])

    def _bounds(self, rows: pa.Table) -> tuple[int, int]:
        starts = rows.column(self._table.time).to_numpy()
        longest = rows.column("longest_ns").to_numpy() if self._table is SPANS else 0
        return (int(starts.min()), int((starts + longest).max())) if len(rows) else (0, -1)
