"""Observations as Parquet: step records to rows, and rows back to step records.

A part written fresh is in step order; a merged one is clustered by tensor, then step. Both say
in their metadata which steps they hold and which step the worker recorded before them, so that
a reader knows the steps without reading rows and notices a part that it has not seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...record import Layout, StepRecord, TensorInfo
from ...statistics import FIELDS, MIN
from ...steps import Mode

T = TypeVar("T")
_TEXT = pa.dictionary(pa.int32(), pa.string())
# min, max, sums and abs_min are measurements; the fields before them are counts.
_STATISTICS = [
    pa.field(name, pa.int64() if index < MIN else pa.float64()) for index, name in enumerate(FIELDS)
]
SCHEMA = pa.schema(
    [
        pa.field("step", pa.int64()),
        pa.field("mode", _TEXT),
        pa.field("mode_step", pa.int64()),
        pa.field("time_ns", pa.int64()),
        pa.field("order", pa.int32()),
        pa.field("tensor", _TEXT),
        pa.field("collection", _TEXT),
        pa.field("dtype", _TEXT),
        pa.field("shape", _TEXT),
        pa.field("trainable", pa.bool_()),
        pa.field("optimizer_groups", pa.int8()),
        *_STATISTICS,
        pa.field("blob", _TEXT),
        pa.field("offset", _TEXT),
        pa.field("digest", pa.uint64()),
        pa.field("exponents", pa.list_(pa.int64())),
    ]
)
#: Columns that parts written by the first releases do not have.
SINCE_LATER = ("offset", "digest", "exponents")
TEXT_COLUMNS = [field.name for field in SCHEMA if field.type == _TEXT]


def to_table(
    records: Sequence[StepRecord],
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
    tables = []
    numbered = enumerate(records)
    for _, same in groupby(numbered, key=lambda pair: (id(pair[1].layout), pair[1].mode)):
        chosen = list(same)
        start = chosen[0][0]
        tables.append(
            _uniform_table([record for _, record in chosen], blobs[start : start + len(chosen)])
        )
    table = pa.concat_tables(tables).unify_dictionaries() if tables else SCHEMA.empty_table()
    return table if columns is None else table.select(list(columns))


def _uniform_table(records: list[StepRecord], blobs: Sequence[str | None]) -> pa.Table:
    """Return the rows of steps that share one layout and mode."""
    tensors, steps = records[0].layout.tensors, len(records)
    width = len(tensors)
    statistics = np.concatenate([record.statistics for record in records])
    columns = {
        "step": np.repeat([record.step for record in records], width),
        "mode": _texts([records[0].mode.value], np.zeros(steps * width, np.int32)),
        "mode_step": np.repeat([record.mode_step for record in records], width),
        "time_ns": np.repeat([record.time_ns for record in records], width),
        "order": np.tile(np.arange(width, dtype=np.int32), steps),
        "tensor": _tiled([tensor.name for tensor in tensors], steps),
        "collection": _tiled([tensor.collection for tensor in tensors], steps),
        "dtype": _tiled([tensor.dtype for tensor in tensors], steps),
        "shape": _tiled([_shape_text(tensor.shape) for tensor in tensors], steps),
        "trainable": pa.array([tensor.trainable for tensor in tensors] * steps, pa.bool_()),
        "optimizer_groups": pa.array(
            [tensor.optimizer_groups for tensor in tensors] * steps, pa.int8()
        ),
        "blob": _blob_column(records, blobs),
        "offset": _tiled([_offset_text(tensor.offset) for tensor in tensors], steps),
        "digest": _column(tensors, [record.digests for record in records], pa.uint64()),
        "exponents": _column(
            tensors, [record.exponents for record in records], pa.list_(pa.int64())
        ),
    }
    for index, field in enumerate(_STATISTICS):
        values = statistics[:, index]
        columns[field.name] = _counts(values) if index < MIN else values
    return pa.table(columns, schema=SCHEMA)


def _counts(values: npt.NDArray[np.float64]) -> pa.Array:
    unknown = np.isnan(values)
    with np.errstate(invalid="ignore"):
        counts = values.astype(np.int64)
    return pa.array(counts, mask=unknown if unknown.any() else None)


_shape_text = lru_cache(maxsize=4096)(json.dumps)


def _offset_text(offset: tuple[int, ...] | None) -> str | None:
    return None if offset is None else _shape_text(offset)


def _column(
    tensors: Sequence[TensorInfo], values: Sequence[Mapping[str, object]], kind: pa.DataType
) -> pa.Array:
    """Return a column of what only some tensors of some steps have."""
    if not any(values):
        return pa.nulls(len(tensors) * len(values), kind)
    return pa.array([of.get(tensor.name) for of in values for tensor in tensors], kind)


def _texts(values: list[str], codes: npt.NDArray[np.int32]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values))


def _tiled(values: Sequence[str | None], times: int) -> pa.DictionaryArray:
    """Return a column that repeats ``values``, each distinct text stored once."""
    distinct = [value for value in dict.fromkeys(values) if value is not None]
    position = {value: index for index, value in enumerate(distinct)} | {None: -1}
    codes = np.tile(np.fromiter((position[v] for v in values), np.int32, len(values)), times)
    indices = pa.array(codes, pa.int32(), mask=codes < 0 if None in values else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()))


def _blob_column(records: list[StepRecord], blobs: Sequence[str | None]) -> pa.Array:
    names: list[str | None] = []
    for record, blob in zip(records, blobs, strict=True):
        tensors = record.layout.tensors
        if blob is None or not record.raw:
            names.extend([None] * len(tensors))
        else:
            names.extend(blob if tensor.name in record.raw else None for tensor in tensors)
    return pa.array(names, pa.string()).dictionary_encode().cast(_TEXT)


def to_records(
    table: pa.Table, worker: str, layouts: dict[tuple[TensorInfo, ...], Layout]
) -> Iterator[_Rows]:
    """Yield the steps of a table, ascending, with the blob of each of their rows.

    Args:
        table: Rows of one worker, in any order.
        worker: Whose they are.
        layouts: Layouts met before, kept from call to call; equal layouts become one object.
    """
    columns = {name: text_codes(table.column(name)) for name in TEXT_COLUMNS}
    step, order = table.column("step").to_numpy(), table.column("order").to_numpy()
    by_step = np.lexsort((order, step))
    step = step[by_step]
    mode_step = table.column("mode_step").to_numpy()[by_step]
    time_ns = table.column("time_ns").to_numpy()[by_step]
    statistics = np.stack([table.column(name).to_numpy() for name in FIELDS], axis=1)[by_step]
    trainable = _nullable(table.column("trainable"))[by_step]
    groups = _nullable(table.column("optimizer_groups"))[by_step]
    codes = {name: column.codes[by_step] for name, column in columns.items()}
    infos = np.stack(
        [codes[name] for name in ("tensor", "collection", "dtype", "shape", "offset")]
        + [trainable, groups],
        axis=1,
    )
    values = {name: column.values for name, column in columns.items()}
    digests = _by_row(table.column("digest"), by_step, int)
    exponents = _by_row(table.column("exponents"), by_step, _int64_array)
    seen: dict[bytes, Layout] = {}
    edges = np.flatnonzero(np.diff(step, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(edges):
        token = infos[start:stop].tobytes()
        if token not in seen:
            seen[token] = _layout(infos[start:stop], values, layouts)
        blob_codes = codes["blob"][start:stop]
        tensors = seen[token].tensors
        yield _Rows(
            StepRecord(
                worker=worker,
                mode=Mode(values["mode"][codes["mode"][start]]),
                step=int(step[start]),
                mode_step=int(mode_step[start]),
                time_ns=int(time_ns[start]),
                layout=seen[token],
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


@dataclass(frozen=True, slots=True)
class Codes:
    """A text column as codes into its distinct values, -1 for null."""

    codes: npt.NDArray[np.int64]
    values: list[str]


def text_codes(column: pa.ChunkedArray) -> Codes:
    """Return a text column, of whatever chunks, as codes."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], _TEXT)
    codes = whole.indices.fill_null(-1).to_numpy().astype(np.int64)
    return Codes(codes, whole.dictionary.to_pylist())


def _by_row(
    column: pa.ChunkedArray, order: npt.NDArray[np.intp], make: Callable[[Any], T]
) -> dict[int, T]:
    """Return what a column holds where it is not null, by row after reordering."""
    if column.null_count == len(column):
        return {}
    values = column.take(pa.array(order)).to_pylist()
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
    return column.cast(pa.int64()).fill_null(-1).to_numpy()  # type: ignore[no-any-return]


def _layout(
    infos: npt.NDArray[np.int64],
    values: dict[str, list[str]],
    layouts: dict[tuple[TensorInfo, ...], Layout],
) -> Layout:
    tensors = tuple(
        TensorInfo(
            name=values["tensor"][tensor],
            collection=values["collection"][collection],
            dtype=values["dtype"][dtype],
            shape=tuple(json.loads(values["shape"][shape])),
            trainable=None if trainable < 0 else bool(trainable),
            optimizer_groups=None if groups < 0 else int(groups),
            offset=None if offset < 0 else tuple(json.loads(values["offset"][offset])),
        )
        for tensor, collection, dtype, shape, offset, trainable, groups in infos.tolist()
    )
    return layouts.setdefault(tensors, Layout(tensors))
