"""Arrow arrays of NumPy's and Python's values, and back, in which Arrow does not import pandas.

At its first ``pa.array``, ``to_numpy``, ``fill_null`` or ``empty_table`` Arrow imports pandas, if
there is one, and at its first ``take``, ``filter`` or ``cast`` all of ``pyarrow.compute``. In a
training that is a third of a second in which nothing else runs, and 45 MB. Buffers need neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Column: TypeAlias = "pa.Array | pa.ChunkedArray"

# Arrow's offsets into texts and lists are int32.
_MOST_OFFSET = np.iinfo(np.int32).max


def array(
    values: npt.ArrayLike, kind: pa.DataType | None = None, *, nulls: Mask | None = None
) -> pa.Array:
    """Return numbers or truths as an Arrow array.

    Args:
        values: Shape ``[n]``; integers, floats or bools. The array shares its memory where it can.
        kind: The type of the array, by default that of the values. Values that it does not hold
            wrap around.
        nulls: Which are null, shape ``[n]``; none by default.

    Raises:
        ValueError: Not one axis.

    Example:
        >>> array([1, 2, 3], pa.int8(), nulls=np.array([False, True, False])).to_pylist()
        [1, None, 3]
    """
    dtype = None if kind is None else _dtype(kind)
    values = np.ascontiguousarray(values, dtype)
    if values.ndim != 1:
        raise ValueError(f"a column has one axis, got shape {values.shape}")
    if kind is None:
        kind = pa.from_numpy_dtype(values.dtype)
    data = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    count, validity = _validity(nulls)
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(data)], count)


def texts(values: Sequence[str | None]) -> pa.StringArray:
    """Return texts as an Arrow array; ``None`` is null.

    Raises:
        UnicodeEncodeError: A text is none that UTF-8 can hold.
        OverflowError: They are 2 GiB or more together.
    """
    encoded = [b"" if value is None else value.encode() for value in values]
    count, validity = _validity(_missing(values))
    offsets, data = _offsets([len(one) for one in encoded]), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), offsets, data, validity, count)


def lists(values: Sequence[npt.ArrayLike | None]) -> pa.ListArray:
    """Return rows of int64 as an Arrow array of lists; ``None`` is null.

    Args:
        values: Each of shape ``[any]``.

    Raises:
        OverflowError: They have 2**31 numbers or more together.
    """
    rows = [np.empty(0, np.int64) if one is None else np.asarray(one, np.int64) for one in values]
    count, validity = _validity(_missing(values))
    offsets = _offsets([len(row) for row in rows])
    numbers_ = array(np.concatenate([np.empty(0, np.int64), *rows]))
    kind = pa.list_(pa.int64())
    return pa.Array.from_buffers(kind, len(rows), [validity, offsets], count, children=[numbers_])


def empty(schema: pa.Schema) -> pa.Table:
    """Return a table of no rows."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def numbers(column: Column, *, null: float | None = None) -> Array:
    """Return numbers or truths as a NumPy array.

    Args:
        column: Integers, floats or bools.
        null: What stands for null, of the dtype of the column; by default nan, so that integers
            become float64 where some are null.

    Returns:
        Shape ``[n]``, of the dtype of the column; a view that cannot be written to where it can be
        one.

    Raises:
        TypeError: A column of another type.
        ValueError: Bools with nulls, and nothing that stands for these.
    """
    if not isinstance(column, pa.ChunkedArray):
        return _numbers(column, null)
    chunks = [_numbers(chunk, null) for chunk in column.chunks]
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate(chunks or [np.empty(0, _dtype(column.type))])


def valid(column: Column) -> Mask:
    """Return which values are not null, shape ``[n]``."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return np.concatenate([np.empty(0, bool), *map(_valid, chunks)])


def repeated(text: str, count: int) -> pa.StringArray:
    """Return a text so many times as an Arrow array."""
    encoded = text.encode()
    offsets = _offsets(np.full(count, len(encoded)))
    return pa.StringArray.from_buffers(count, offsets, pa.py_buffer(encoded * count))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return the values of a column as one array; of texts that are codes, with one dictionary."""
    joined = column.unify_dictionaries().combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.chunk(0) if joined.num_chunks else pa.nulls(0, column.type)
    return joined


def rows_at(table: pa.Table, rows: npt.NDArray[np.integer[Any]]) -> pa.Table:
    """Return some rows of a table, by their numbers, in this order."""
    columns = [_taken(column, rows) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def rows_where(table: pa.Table, kept: Mask) -> pa.Table:
    """Return the rows of a table for which ``kept``, shape ``[rows]``, is true."""
    return rows_at(table, np.flatnonzero(kept))


def sort_rows(table: pa.Table, by: str) -> pa.Table:
    """Return the rows of a table, ascending by a column of numbers; equal ones stay in order."""
    return rows_at(table, np.argsort(numbers(table.column(by)), kind="stable"))


def _taken(column: pa.ChunkedArray, rows: npt.NDArray[np.integer[Any]]) -> Column:
    kind = column.type
    if pa.types.is_dictionary(kind):
        joined = whole(column)
        indices = _taken_numbers(joined.indices, rows)
        return pa.DictionaryArray.from_arrays(indices, joined.dictionary)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return _taken_numbers(column, rows)
    if column.null_count == len(column):
        return pa.nulls(len(rows), kind)
    return column.take(array(rows))


def _taken_numbers(column: Column, rows: npt.NDArray[np.integer[Any]]) -> pa.Array:
    nulls = ~valid(column)[rows] if column.null_count else None
    return array(numbers(column, null=0)[rows], column.type, nulls=nulls)


def _missing(values: Sequence[object]) -> Mask:
    return np.fromiter((value is None for value in values), bool, len(values))


def _validity(nulls: Mask | None) -> tuple[int, pa.Buffer | None]:
    """Return how many are null, and Arrow's bits for those that are not; none where none is."""
    count = 0 if nulls is None else int(np.count_nonzero(nulls))
    if nulls is None or not count:
        return 0, None
    return count, pa.py_buffer(np.packbits(~nulls, bitorder="little"))


def _offsets(lengths: npt.ArrayLike) -> pa.Buffer:
    """Return where each of several begins that lie one after the other, and where the last ends."""
    ends = np.cumsum(np.r_[0, np.asarray(lengths, np.int64)])
    if ends[-1] > _MOST_OFFSET:
        raise OverflowError(f"a column holds at most {_MOST_OFFSET}, got {ends[-1]}")
    return pa.py_buffer(ends.astype(np.int32))


# Arrow before version 22 imports pandas to tell these.
_DTYPES = {pa.from_numpy_dtype(dtype): dtype for dtype in map(np.dtype, "?bhiqBHIQefd")}


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    dtype: np.dtype[Any] | None = _DTYPES.get(kind)
    if dtype is None:
        raise TypeError(f"a column of numbers or truths is needed, got {kind}")
    return dtype


def _numbers(chunk: pa.Array, null: float | None) -> Array:
    dtype, data = _dtype(chunk.type), chunk.buffers()[1]
    if not len(chunk):
        return np.empty(0, dtype)
    if dtype == np.bool_:
        values = _bits(data, chunk)
    else:
        values = np.frombuffer(data, dtype, len(chunk), chunk.offset * dtype.itemsize)
        values.flags.writeable = False
    if not chunk.null_count:
        return values
    if null is None:
        if dtype == np.bool_:
            raise ValueError("some truths are null, and nothing stands for these")
        null, dtype = np.nan, np.dtype(np.float64) if dtype.kind in "iu" else dtype
    return np.where(_valid(chunk), values, dtype.type(null))


def _valid(chunk: pa.Array) -> Mask:
    if not chunk.null_count:
        return np.ones(len(chunk), bool)
    return _bits(chunk.buffers()[0], chunk)


def _bits(buffer: pa.Buffer, chunk: pa.Array) -> Mask:
    """Return what a buffer of bits has for each value of a chunk, which may be part of a longer."""
    bits = np.unpackbits(
        np.frombuffer(buffer, np.uint8), count=chunk.offset + len(chunk), bitorder="little"
    )
    return bits[chunk.offset :].view(np.bool_)
