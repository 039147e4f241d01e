"""Whole tensors of a run that several workers wrote, from the rows of their parts."""

from __future__ import annotations

import json
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.native.text_columns import text_codes
from ..formats.reader import Located
from ..statistics import FIELDS, MIN
from ..whole import are_whole, assemble, merge_runs, part_sizes
from .series import Series

Array = npt.NDArray[np.generic]


def merge_parts(table: pa.Table) -> pa.Table:
    """Return the rows of one tensor with its parts merged: one row for each step.

    Of workers that hold all of it, or the same part, the first one counts. A step at which a part
    is missing is left out.

    Args:
        table: Rows of one tensor, ascending by step and then by worker; with the columns
            ``step``, ``shape``, ``offset`` and the fields of ``statistics.FIELDS``.

    Returns:
        The same columns; ``worker`` and ``time_ns`` are those of the first part.
    """
    offsets = text_codes(table.column("offset")).codes
    table = table.take(pa.array(_each_once(table.column("step").to_numpy(), offsets)))
    starts = np.flatnonzero(np.diff(table.column("step").to_numpy(), prepend=-1))
    first = table.take(pa.array(starts))
    if (offsets < 0).all():
        return first
    rows = Series(table).rows
    in_parts = first.column("offset").is_valid().to_numpy()
    whole = are_whole(rows, starts, _part_sizes(table, starts), _sizes(first))
    kept = np.flatnonzero(~in_parts | whole)
    return _with_statistics(first, merge_runs(rows, starts)).take(pa.array(kept))


class Gathered:
    """The full values of parts of one tensor, by step."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[tuple[int, ...], Array]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}

    def has(self, step: int, offset: tuple[int, ...] | None) -> bool:
        """Return whether the part that begins there is known, from this worker or another."""
        return offset is not None and offset in self._parts.get(step, {})

    def add(self, step: int, at: Located, value: Array) -> None:
        """Take a part."""
        self._parts.setdefault(step, {})[at.offset or ()] = value
        self._shapes[step] = at.shape

    def wholes(self) -> dict[int, Array]:
        """Return the tensor at every step of which all parts are known."""
        found = {step: assemble(self._shapes[step], parts) for step, parts in self._parts.items()}
        return {step: whole for step, whole in found.items() if whole is not None}


def _each_once(
    steps: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]
) -> npt.NDArray[np.intp]:
    """Return the first row of each part at each step; only that of a whole where there is one."""
    order = np.lexsort((np.arange(len(steps)), offsets, steps))
    step, offset = steps[order], offsets[order]
    new_step = np.diff(step, prepend=-1) != 0
    new = new_step | (np.diff(offset, prepend=-2) != 0)
    after_whole = np.maximum.accumulate(np.where(new_step, np.arange(len(step)), 0))
    kept = new_step | (new & (offset[after_whole] >= 0))
    return np.sort(order[kept])


def _sizes(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return how many elements the tensor has at each row."""
    shapes = text_codes(table.column("shape"))
    sizes = np.array([prod(json.loads(shape)) for shape in shapes.values], np.int64)
    return sizes[shapes.codes]


def _part_sizes(table: pa.Table, starts: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Return how many elements each part has; 0 for what is whole."""
    shapes, offsets = (text_codes(table.column(name)) for name in ("shape", "offset"))
    places = [tuple(json.loads(offset)) for offset in offsets.values]
    known: dict[tuple[int, bytes], list[int]] = {}  # steps are alike
    sizes: list[int] = []
    for codes, shape in zip(np.split(offsets.codes, starts[1:]), shapes.codes[starts], strict=True):
        key = (int(shape), codes.tobytes())
        if key not in known:
            whole = tuple(json.loads(shapes.values[shape]))
            at = [places[code] for code in codes if code >= 0]
            known[key] = part_sizes(whole, at) if at else [0]
        sizes += known[key]
    return np.array(sizes, np.int64)


def _with_statistics(table: pa.Table, rows: npt.NDArray[np.float64]) -> pa.Table:
    for field, name in enumerate(FIELDS):
        column = rows[:, field] if field >= MIN else rows[:, field].astype(np.int64)
        place = table.column_names.index(name)
        table = table.set_column(place, table.schema.field(name), pa.array(column))
    return table
