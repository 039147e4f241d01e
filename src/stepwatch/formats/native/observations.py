"""Observations as Parquet: step records to rows, and rows back to step records.

Text columns are dictionaries: each distinct text is held once, and rows hold its number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...model.json_text import parse_json
from ...model.record import Layout, ScalarSteps, StepRecord, TensorInfo, step_numbers
from ...model.steps import Mode
from ...numerics.columns import array, empty, lists, numbers, texts, valid, whole
from ...numerics.statistics import FIELDS, MIN, NUM_FIELDS

#: The type of a text column.
TEXT = pa.dictionary(pa.int32(), pa.string())


class Texts:
    """A text column that grows."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {None: -1}

    def codes(self, values: Sequence[str | None]) -> npt.NDArray[np.int32]:
        """Return the number of each text, -1 for none."""
        numbers = self._numbers
        for value in dict.fromkeys(values):
            numbers.setdefault(value, len(numbers) - 1)
        return np.fromiter((numbers[value] for value in values), np.int32, len(values))

    def column(self, codes: npt.NDArray[np.int32]) -> pa.DictionaryArray:
        """Return the column in which these numbers follow each other."""
        indices = array(codes, nulls=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, texts([*self._numbers][1:]))


def encoded(values: Sequence[str | None]) -> pa.DictionaryArray:
    """Return texts as a text column."""
    texts_ = Texts()
    return texts_.column(texts_.codes(values))


@dataclass(frozen=True, slots=True)
class Codes:
    """A text column as codes into its distinct values, -1 for null."""

    codes: npt.NDArray[np.int64]
    values: list[str]


def text_codes(column: pa.ChunkedArray) -> Codes:
    """Return a text column, of whatever chunks, as codes."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    joined = whole(column)
    codes = numbers(joined.indices, null=-1).astype(np.int64)
    return Codes(codes, joined.dictionary.to_pylist())


def texts_where(column: pa.ChunkedArray, wants: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    """Return in which rows a text column holds a text that is wanted, which null never is."""
    found = text_codes(column)
    wanted = [code for code, text in enumerate(found.values) if wants(text)]
    return np.isin(found.codes, wanted)


T = TypeVar("T")
#: The fields of the tensors of a layout, as columns.
LayoutColumns = tuple[tuple[Any, ...], ...]
# min, max, sums and abs_min are measurements; the fields before them are counts.
_STATISTICS = [
    pa.field(name, pa.int64() if index < MIN else pa.float64()) for index, name in enumerate(FIELDS)
]
SCHEMA = pa.schema(
    [
        pa.field("step", pa.int64()),
        pa.field("mode", TEXT),
        pa.field("mode_step", pa.int64()),
        pa.field("time_ns", pa.int64()),
        pa.field("order", pa.int32()),
        pa.field("tensor", TEXT),
        pa.field("collection", TEXT),
        pa.field("dtype", TEXT),
        pa.field("shape", TEXT),
        pa.field("trainable", pa.bool_()),
        pa.field("optimizer_groups", pa.int8()),
        *_STATISTICS,
        pa.field("blob", TEXT),
        pa.field("offset", TEXT),
        pa.field("digest", pa.uint64()),
        pa.field("exponents", pa.list_(pa.int64())),
        pa.field("subject", TEXT),
        pa.field("function", TEXT),
    ]
)
#: Columns that parts written by the first releases do not have.
SINCE_LATER = ("offset", "digest", "exponents", "subject", "function")
TEXT_COLUMNS = [field.name for field in SCHEMA if field.type == TEXT]
_LAYOUT_TEXTS = ("tensor", "collection", "dtype", "shape", "offset", "subject", "function")


def to_table(
    records: Sequence[StepRecord | ScalarSteps],
    blobs: Sequence[str | None],
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return the rows of some steps, in their order.

    Args:
        records: Steps of one worker, ascending. A count that is not known is nan in a record and
            null in a table.
        blobs: For each, the name of the file that holds its raw values, if it has any.
        columns: All by default.
    """
    table = _table(records, blobs) if records else empty(SCHEMA)
    return table if columns is None else table.select(list(columns))


def _table(records: Sequence[StepRecord | ScalarSteps], blobs: Sequence[str | None]) -> pa.Table:
    texts = {name: Texts() for name in TEXT_COLUMNS}
    layouts = {id(record.layout): record.layout for record in records}
    known = {which: _layout_columns(layout, texts) for which, layout in layouts.items()}
    steps = [step_numbers(record) for record in records]
    counts = [len(one) for one in steps]
    each = [(known[id(one.layout)], count) for one, count in zip(records, counts, strict=True)]
    codes = {
        name: np.concatenate([np.tile(one[name], count) for one, count in each])
        for name in each[0][0]
    }
    widths = np.repeat([len(record.layout) for record in records], counts)
    modes = texts["mode"].codes([record.mode.value for record in records])
    trainable, groups = codes.pop("trainable"), codes.pop("optimizer_groups")
    statistics = np.concatenate([_statistics(record) for record in records])
    step, mode_step, time_ns = np.concatenate(steps).T
    columns: dict[str, pa.Array] = {
        "step": array(np.repeat(step, widths)),
        "mode_step": array(np.repeat(mode_step, widths)),
        "time_ns": array(np.repeat(time_ns, widths)),
        "order": array(codes.pop("order")),
        "trainable": array(trainable > 0, nulls=trainable < 0),
        "optimizer_groups": array(groups, nulls=groups < 0),
        "digest": _digests(records, len(statistics)),
        "exponents": _exponents(records, len(statistics)),
    }
    codes["mode"] = np.repeat(np.repeat(modes, counts), widths)
    codes["blob"] = _blob_codes(records, blobs, texts["blob"], len(statistics))
    columns |= {name: texts[name].column(codes[name]) for name in TEXT_COLUMNS}
    for index, field in enumerate(_STATISTICS):
        values = statistics[:, index]
        columns[field.name] = _counts(values) if index < MIN else array(values)
    return pa.Table.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _statistics(steps: StepRecord | ScalarSteps) -> npt.NDArray[np.float64]:
    return steps.statistics.reshape(-1, NUM_FIELDS)


def _layout_columns(
    layout: Layout, texts: Mapping[str, Texts]
) -> dict[str, npt.NDArray[np.integer[Any]]]:
    """Return what the rows of every step of a layout hold, as numbers; -1 for what is unknown."""
    tensors = layout.tensors
    groups = (-1 if one.optimizer_groups is None else one.optimizer_groups for one in tensors)
    trainable = (-1 if one.trainable is None else one.trainable for one in tensors)
    unnamed = [one.unnamed for one in tensors]
    return {
        "tensor": texts["tensor"].codes([one.name for one in tensors]),
        "collection": texts["collection"].codes([one.collection for one in tensors]),
        "dtype": texts["dtype"].codes([one.dtype for one in tensors]),
        "shape": texts["shape"].codes([_shape_text(one.shape) for one in tensors]),
        "offset": texts["offset"].codes([_offset_text(one.offset) for one in tensors]),
        "subject": texts["subject"].codes([subject or None for subject, _ in unnamed]),
        "function": texts["function"].codes([function or None for _, function in unnamed]),
        "order": np.arange(len(tensors), dtype=np.int32),
        "trainable": np.fromiter(trainable, np.int8, len(tensors)),
        "optimizer_groups": np.fromiter(groups, np.int8, len(tensors)),
    }


def _counts(values: npt.NDArray[np.float64]) -> pa.Array:
    unknown = np.isnan(values)
    with np.errstate(invalid="ignore"):
        counts = values.astype(np.int64)
    return array(counts, nulls=unknown)


_shape_text = lru_cache(maxsize=4096)(json.dumps)


def _offset_text(offset: tuple[int, ...] | None) -> str | None:
    return None if offset is None else _shape_text(offset)


def _digests(records: Sequence[StepRecord | ScalarSteps], num_rows: int) -> pa.Array:
    found = _by_tensor(records, "digests")
    if found is None:
        return pa.nulls(num_rows, pa.uint64())
    nulls = np.array([one is None for one in found])
    return array(np.array([one or 0 for one in found], np.uint64), nulls=nulls)


def _exponents(records: Sequence[StepRecord | ScalarSteps], num_rows: int) -> pa.Array:
    found = _by_tensor(records, "exponents")
    return pa.nulls(num_rows, SCHEMA.field("exponents").type) if found is None else lists(found)


def _by_tensor(records: Sequence[StepRecord | ScalarSteps], name: str) -> list[Any] | None:
    """Return for each row what only some tensors of some steps have; ``None`` if none has it."""
    if not any(isinstance(one, StepRecord) and getattr(one, name) for one in records):
        return None
    found: list[Any] = []
    for one in records:
        if isinstance(one, StepRecord):
            of = getattr(one, name)
            found += [of.get(tensor.name) for tensor in one.layout.tensors]
        else:
            found += [None] * one.values.size
    return found


def _blob_codes(
    records: Sequence[StepRecord | ScalarSteps],
    blobs: Sequence[str | None],
    texts: Texts,
    num_rows: int,
) -> npt.NDArray[np.int32]:
    """Return for each row the number of the file that holds its raw value, -1 for none."""
    if not any(blobs):
        return np.full(num_rows, -1, np.int32)
    names: list[str | None] = []
    for one, blob in zip(records, blobs, strict=True):
        if isinstance(one, StepRecord):
            names += [blob if tensor.name in one.raw else None for tensor in one.layout.tensors]
        else:
            names += [None] * one.values.size
    return texts.codes(names)


def to_records(
    table: pa.Table, worker: str, layouts: dict[LayoutColumns, Layout], after: int = -1
) -> Iterator[_Rows]:
    """Yield the steps of a table, ascending, with the blob of each of their rows.

    Args:
        table: Rows of one worker, in any order.
        worker: The worker.
        layouts: A cache that is kept from call to call, so that equal layouts become one object.
        after: Only steps later than this one.
    """
    columns = {name: text_codes(table.column(name)) for name in TEXT_COLUMNS}
    step, order = numbers(table.column("step")), numbers(table.column("order"))
    by_step = np.lexsort((order, step))
    by_step = by_step[np.searchsorted(step[by_step], after, side="right") :]
    step = step[by_step]
    mode_step = numbers(table.column("mode_step"))[by_step]
    time_ns = numbers(table.column("time_ns"))[by_step]
    statistics = np.stack([numbers(table.column(name))[by_step] for name in FIELDS], axis=1)
    trainable = _nullable(table.column("trainable"))[by_step]
    groups = _nullable(table.column("optimizer_groups"))[by_step]
    codes = {name: column.codes[by_step] for name, column in columns.items()}
    infos = np.stack([codes[name] for name in _LAYOUT_TEXTS] + [trainable, groups], axis=1)
    values = {name: column.values for name, column in columns.items()}
    digests = _by_row(table.column("digest"), by_step, int)
    exponents = _by_row(table.column("exponents"), by_step, _int64_array)
    known: dict[bytes, Layout] = {}
    edges = np.flatnonzero(np.diff(step, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(edges):
        token = infos[start:stop].tobytes()
        if token not in known:
            known[token] = _layout(infos[start:stop], values, layouts)
        blob_codes = codes["blob"][start:stop]
        tensors = known[token].tensors
        yield _Rows(
            StepRecord(
                worker=worker,
                mode=Mode(values["mode"][codes["mode"][start]]),
                step=int(step[start]),
                mode_step=int(mode_step[start]),
                time_ns=int(time_ns[start]),
                layout=known[token],
                statistics=statistics[start:stop],
                digests=_of_some(tensors, digests, start),
                exponents=_of_some(tensors, exponents, start),
            ),
            {
                tensors[row].name: values["blob"][blob_codes[row]]
                for row in np.flatnonzero(blob_codes >= 0)
            },
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """A step without its raw values, and the blob that holds the value of each tensor."""

    record: StepRecord
    blobs: dict[str, str]


def _by_row(
    column: pa.ChunkedArray, order: npt.NDArray[np.intp], make: Callable[[Any], T]
) -> dict[int, T]:
    """Return what a column holds where it is not null, by row after reordering."""
    if column.null_count == len(column):
        return {}
    values = column.take(array(order)).to_pylist()
    return {row: make(value) for row, value in enumerate(values) if value is not None}


def _int64_array(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def _of_some(tensors: Sequence[TensorInfo], by_row: Mapping[int, T], start: int) -> dict[str, T]:
    """Return, by name, what the tensors of a step have whose first row is ``start``."""
    if not by_row:
        return {}
    rows = ((tensor.name, by_row.get(start + row)) for row, tensor in enumerate(tensors))
    return {name: value for name, value in rows if value is not None}


def _nullable(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.where(valid(column), numbers(column, null=0), np.int64(-1))


@lru_cache(maxsize=4096)
def _indices(text: str) -> tuple[int, ...]:
    return tuple(parse_json(text))


def _layout(
    infos: npt.NDArray[np.int64],
    values: dict[str, list[str]],
    layouts: dict[LayoutColumns, Layout],
) -> Layout:
    # Tens of thousands of tensors in each of many parts: what can be is done column by column.
    tensor, collection, dtype, shape, offset, subject, function, trainable, groups = (
        infos.T.tolist()
    )
    columns = (
        tuple(map(values["tensor"].__getitem__, tensor)),
        tuple(map(values["collection"].__getitem__, collection)),
        tuple(map(values["dtype"].__getitem__, dtype)),
        tuple(map([_indices(text) for text in values["shape"]].__getitem__, shape)),
        tuple(None if one < 0 else bool(one) for one in trainable),
        tuple(None if one < 0 else one for one in groups),
        # code -1 takes the last
        tuple(map([*map(_indices, values["offset"]), None].__getitem__, offset)),
        tuple(map([*values["subject"], ""].__getitem__, subject)),
        tuple(map([*values["function"], ""].__getitem__, function)),
    )
    layout = layouts.get(columns)
    if layout is None:
        layout = layouts[columns] = Layout(tuple(map(TensorInfo, *columns)))
    return layout
