"""Rows of a table by their texts, such as those of one machine and device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..native.text_columns import text_codes


def rows_by(
    table: pa.Table, columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int64]]]:
    """Yield, for each set of texts in some columns, which rows have it; in the order of the texts.

    Example:
        >>> table = pa.table({"node": ["b", "a", "b"], "value": [1, 2, 3]})
        >>> [(node, rows.tolist()) for (node,), rows in rows_by(table, ["node"])]
        [('a', [1]), ('b', [0, 2])]
    """
    codes = [text_codes(table.column(name)) for name in columns]
    sets, of = np.unique(np.stack([one.codes for one in codes]), axis=1, return_inverse=True)
    order = np.argsort(of.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(of.reshape(-1), minlength=sets.shape[1]))
    found = {
        tuple(one.values[sets[place, number]] for place, one in enumerate(codes)): rows
        for number, rows in enumerate(np.split(order, ends[:-1]) if len(order) else [])
    }
    yield from sorted(found.items())
