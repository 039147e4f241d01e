"""One name over many steps and workers: its statistics as a series, its full values, its digests.

A tensor that several workers hold parts of is put together from the rows and values of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import StepUnavailable, TensorUnavailable
from ..formats.interface import Located
from ..formats.native.observations import text_codes
from ..model.json_text import parse_json
from ..model.record import TensorInfo
from ..model.sharding import are_complete, assemble, merge_shard_rows, shard_sizes
from ..model.steps import Mode
from ..numerics.columns import array, numbers, rows_at, rows_where, valid
from ..numerics.statistics import DERIVED, FIELDS, MIN, NAN, NUM_FIELDS, Row, Statistics, quantity

if TYPE_CHECKING:
    from .trial import Trial


Array = npt.NDArray[np.generic]


class Series:
    """The statistics of one tensor over steps and workers, ascending by step.

    Args:
        table: Columns ``worker``, ``step``, ``mode``, ``mode_step``, ``time_ns``, ``dtype``,
            ``shape`` and the fields of ``statistics.FIELDS``, or some of these.

    Example:
        ``series = trial.tensor("loss/mse_loss").statistics()``, then ``series.steps`` and
        ``series["mean"]`` for numpy, ``series.to_arrow()`` for a table; pandas, polars and
        DuckDB take the series itself.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """The global steps, shape ``[rows]``."""
        return numbers(self._table.column("step"))

    @property
    def mode_steps(self) -> npt.NDArray[np.int64]:
        """The steps within their modes, shape ``[rows]``."""
        return numbers(self._table.column("mode_step"))

    @property
    def modes(self) -> list[str]:
        """The mode of each row."""
        return self._table.column("mode").to_pylist()  # type: ignore[no-any-return]

    @property
    def workers(self) -> list[str]:
        """The worker of each row."""
        return self._table.column("worker").to_pylist()  # type: ignore[no-any-return]

    def __getitem__(self, statistic: str) -> npt.NDArray[np.float64]:
        """Return one field or derived quantity, shape ``[rows]``, float64.

        Raises:
            KeyError: An unknown name.
        """
        # Not all rows: of a million steps they are 88 MB, and a quantity takes a few fields.
        return quantity(cast("Row", _Fields(self._table)), statistic)

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """All fields, shape ``[rows, NUM_FIELDS]``, float64."""
        fields = _Fields(self._table)
        return np.stack([fields[..., field] for field in range(NUM_FIELDS)], axis=-1)

    def to_arrow(self, derived: Sequence[str] = tuple(DERIVED)) -> pa.Table:
        """Return a table, with derived quantities as further columns, as far as they are known."""
        table = self._table
        known = set(table.column_names)
        for name in (name for name in derived if known.issuperset(fields_of(name))):
            table = table.append_column(name, array(self[name]))
        return table

    def to_pandas(self):  # type: ignore[no-untyped-def]
        """Return a pandas DataFrame of ``to_arrow()``; needs pandas."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the table to any library that speaks the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def fields_of(statistic: str) -> tuple[str, ...]:
    """Return the fields that a statistic is computed of.

    Example:
        >>> fields_of("l2"), fields_of("max")
        (('sum_sq',), ('max',))

    Raises:
        KeyError: An unknown name.
    """
    used = _FieldsUsed()
    quantity(cast("Row", used), statistic)
    return tuple(dict.fromkeys(FIELDS[field] for field in used.fields))


class _FieldsUsed:
    """Rows of statistics that note which fields a quantity is computed of."""

    def __init__(self) -> None:
        self.fields: list[int] = []

    def __getitem__(self, index: tuple[object, int]) -> npt.NDArray[np.float64]:
        self.fields.append(index[1])
        return np.zeros(1)


class _Fields:
    """Rows of statistics that make a field only when it is asked for: ``rows[..., SUM]``."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __getitem__(self, index: tuple[object, int]) -> npt.NDArray[np.float64]:
        column = self._table.column(FIELDS[index[1]])
        return numbers(column).astype(np.float64, copy=False)


def merge_shards(table: pa.Table) -> pa.Table:
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
    table = rows_at(table, _each_once(numbers(table.column("step")), offsets))
    starts = np.flatnonzero(np.diff(numbers(table.column("step")), prepend=-1))
    first = rows_at(table, starts)
    if (offsets < 0).all():
        return first
    rows = Series(table).rows
    in_parts = valid(first.column("offset"))
    whole = are_complete(rows, starts, _shard_sizes(table, starts), _sizes(first))
    kept = np.flatnonzero(~in_parts | whole)
    return rows_at(_with_statistics(first, merge_shard_rows(rows, starts)), kept)


class GatheredShards:
    """The full values of parts of one tensor, by step."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[tuple[int, ...], Array]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}

    def has(self, step: int, offset: tuple[int, ...] | None) -> bool:
        """Return whether the part that begins there is known, from this worker or another."""
        return offset is not None and offset in self._parts.get(step, {})

    def add(self, step: int, at: Located, value: Array) -> None:
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
    sizes = np.array([prod(parse_json(shape)) for shape in shapes.values], np.int64)
    return sizes[shapes.codes]


def _shard_sizes(table: pa.Table, starts: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Return how many elements each part has; 0 for what is whole."""
    shapes, offsets = (text_codes(table.column(name)) for name in ("shape", "offset"))
    distinct = [tuple(parse_json(offset)) for offset in offsets.values]
    known: dict[tuple[int, bytes], list[int]] = {}  # steps are alike
    sizes: list[int] = []
    for codes, shape in zip(np.split(offsets.codes, starts[1:]), shapes.codes[starts], strict=True):
        key = (int(shape), codes.tobytes())
        if key not in known:
            whole = tuple(parse_json(shapes.values[shape]))
            at = [distinct[code] for code in codes if code >= 0]
            known[key] = shard_sizes(whole, at) if at else [0]
        sizes += known[key]
    return np.array(sizes, np.int64)


def _with_statistics(table: pa.Table, rows: npt.NDArray[np.float64]) -> pa.Table:
    for field, name in enumerate(FIELDS):
        column = rows[:, field] if field >= MIN else rows[:, field].astype(np.int64)
        position = table.column_names.index(name)
        table = table.set_column(position, table.schema.field(name), array(column))
    return table


_ROW_COLUMNS = ("step", "mode", "mode_step", "time_ns", "dtype", "shape", *FIELDS)
# What --save calls what is saved beside the statistics, and what it is.
_NOUNS = {"raw": "raw value", "digest": "digest", "exponents": "histogram of exponents"}


class Tensor:
    """One name over many steps and workers. Ask a ``Trial`` for it.

    Steps are counted as ``mode`` counts them; by default over all modes.
    """

    def __init__(self, trial: Trial, name: str, collection: str) -> None:
        self._trial = trial
        self.name = name
        self.collection = collection

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, collection={self.collection!r})"

    @property
    def subject(self) -> str:
        """The parameter or module that it is about; its own name if it is about neither."""
        return self._info.subject

    @property
    def function(self) -> str:
        """The function that computed it, or the loss function that was given it; else empty."""
        return self._info.function

    @cached_property
    def _info(self) -> TensorInfo:
        table = self._rows(["subject", "function"], Mode.GLOBAL)
        unnamed = {}
        for name in ("subject", "function"):
            stored = table.column(name).drop_null()
            if len(stored):
                unnamed[name] = stored[0].as_py()
        return TensorInfo(self.name, self.collection, "", (), **unnamed)

    def steps(self, mode: Mode | str = Mode.GLOBAL) -> list[int]:
        """Return the complete steps at which it was observed, ascending."""
        mode = Mode(mode)
        table = self._rows(["step", "mode", "mode_step"], mode)
        column = "step" if mode is Mode.GLOBAL else "mode_step"
        return np.unique(numbers(table.column(column))).tolist()  # type: ignore[no-any-return]

    def statistics(
        self,
        mode: Mode | str = Mode.GLOBAL,
        worker: str | None = None,
        *,
        only: Sequence[str] = (),
    ) -> Series:
        """Return its statistics at all complete steps.

        Args:
            mode: Only steps of this mode.
            worker: Only what this worker saw; all by default.
            only: Read the steps and what these statistics are computed of, and no more: of a long
                run that is much less work. By default everything.

        Raises:
            KeyError: ``only`` holds an unknown name.
        """
        fields = [field for name in only for field in fields_of(name)]
        columns = ["step", "mode_step", *dict.fromkeys(fields)] if only else list(_ROW_COLUMNS)
        return Series(self._rows(columns, Mode(mode), worker))

    def merged(self, mode: Mode | str = Mode.GLOBAL) -> Series:
        """Return the statistics of the whole tensor, one row for each complete step.

        Where workers hold parts of it, as by FSDP, their statistics are merged, each part once; a
        step at which a part is missing is left out. Where each holds all of it, the first counts.

        Args:
            mode: Only steps of this mode.
        """
        table = merge_shards(self._rows([*_ROW_COLUMNS, "offset"], Mode(mode)))
        return Series(table.drop_columns(["offset"]))

    def value(self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> Array:
        """Return its full value at a step, in its own shape and dtype.

        A scalar needs no raw value: its statistics are its value. Where it was observed several
        times in the step, that is the mean as float64.

        Args:
            step: As ``mode`` counts it.
            mode: Which count.
            worker: The worker whose value, or whose part of a tensor in parts, it is. By default
                that of the first that has it, or the whole, put together from the parts.

        Raises:
            StepUnavailable: It was not observed at this step.
            TensorUnavailable: It was, but its full value, or that of a part, was not saved.
        """
        found = self._values(Mode(mode), worker, step)
        if step in found:
            return found[step]
        if worker is None:
            self._raise_for_shards(step, Mode(mode))
        raise self._unavailable(step, Mode(mode))

    def values(self, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> dict[int, Array]:
        """Return its full value at every complete step that has one, by step."""
        return self._values(Mode(mode), worker, None)

    def digest(self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> int:
        """Return the digest of its value at a step, from 0 to 2**64 - 1; see ``digest.digest``.

        Arguments and errors are those of ``value``; of a tensor in parts it is that of one part.
        """
        return int(self._saved_at("digest", step, Mode(mode), worker))

    def digests(self, mode: Mode | str = Mode.GLOBAL, worker: str | None = None) -> dict[int, int]:
        """Return its digest at every complete step that has one, by step."""
        return self._saved("digest", Mode(mode), worker, None)

    def exponents(
        self, step: int, mode: Mode | str = Mode.GLOBAL, worker: str | None = None
    ) -> npt.NDArray[np.int64]:
        """Return how many elements had which exponent at a step; see ``count_exponents``.

        Arguments and errors are those of ``value``; of a tensor in parts it is that of one part.

        Returns:
            Shape ``[NUM_BINS]``, int64.
        """
        return np.array(self._saved_at("exponents", step, Mode(mode), worker), np.int64)

    def _saved_at(self, column: str, step: int, mode: Mode, worker: str | None) -> Any:
        found = self._saved(column, mode, worker, step)
        if step not in found:
            raise self._unavailable(step, mode, column)
        return found[step]

    def _saved(
        self, column: str, mode: Mode, worker: str | None, step: int | None
    ) -> dict[int, Any]:
        """Return what a column holds, by step: of the first worker that has it."""
        table, counted = self._counted([column], mode, worker, step)
        found: dict[int, Any] = {}
        for number, value in zip(counted, table.column(column).to_pylist(), strict=True):
            if value is not None:
                found.setdefault(number, value)
        return found

    def _values(self, mode: Mode, worker: str | None, step: int | None) -> dict[int, Array]:
        found: dict[int, Array] = {}
        parts, without = GatheredShards(), set()
        for at in self._trial.located(self.name, mode, worker, step):
            number = at.step if mode is Mode.GLOBAL else at.mode_step
            if step not in (None, number) or number in found or parts.has(number, at.offset):
                continue
            if at.blob is None:
                without.add(number)
                continue
            value = self._trial.reader.raw(at.worker, at.blob, at.step, self.name)
            if at.offset is None or worker is not None:
                found[number] = value
            else:
                parts.add(number, at, value)
        found |= parts.wholes()
        if without <= found.keys():
            return found
        return self._scalars(mode, worker, step) | found

    def _raise_for_shards(self, step: int, mode: Mode) -> None:
        """Raise if the value of some part was saved, but not that of the whole."""
        held = [who for who in self._trial.workers if step in self._values(mode, who, step)]
        if held:
            raise TensorUnavailable(
                f"of {self.name} only parts have a raw value at step {step}: those of "
                f"{', '.join(held)}; ask for one: value({step}, worker={held[0]!r})"
            )

    def _scalars(self, mode: Mode, worker: str | None, step: int | None) -> dict[int, Array]:
        """Return the values that follow from statistics, by step: those of scalars."""
        table, counted = self._counted(["dtype", "shape", *FIELDS], mode, worker, step)
        rows, dtypes = Series(table).rows, table.column("dtype").to_pylist()
        found: dict[int, Array] = {}
        for row, shape in enumerate(table.column("shape").to_pylist()):
            if shape == "[]" and not np.isnan(rows[row, NAN]):
                found.setdefault(counted[row], _scalar(rows[row], dtypes[row]))
        return found

    def _counted(
        self, columns: list[str], mode: Mode, worker: str | None, step: int | None
    ) -> tuple[pa.Table, list[int]]:
        """Return rows, and their steps as ``mode`` counts them."""
        names = ["step", "mode", "mode_step", *columns]
        table = self._trial.rows(frozenset([self.name]), names, mode, worker, step)
        counted = table.column("step" if mode is Mode.GLOBAL else "mode_step").to_pylist()
        if step is not None:
            table = rows_where(table, np.array([number == step for number in counted], bool))
            counted = [step] * len(table)
        return table, counted

    def _rows(self, columns: list[str], mode: Mode, worker: str | None = None) -> pa.Table:
        return self._trial.rows(frozenset([self.name]), columns, mode, worker)

    def _unavailable(self, step: int, mode: Mode, what: str = "raw") -> Exception:
        saved = self.steps(mode)
        counted = "step" if mode is Mode.GLOBAL else f"step (counted in {mode})"
        if step in saved:
            return TensorUnavailable(
                f"{self.name} has no {_NOUNS[what]} at {counted} {step}, only statistics"
                f"; save it with: --save '{self.collection}:{what}'"
            )
        if not saved:
            return StepUnavailable(f"{self.name} was observed at no {counted}")
        near = min(saved, key=lambda other: abs(other - step))
        return StepUnavailable(
            f"{self.name} was not observed at {counted} {step}; the nearest is {near}"
        )


def _scalar(row: npt.NDArray[np.float64], dtype: str) -> Array:
    """Return the value of a scalar of these statistics, shape ``[]``."""
    statistics = Statistics(row)
    if not statistics.non_finite:
        value = statistics.mean
    elif statistics.nan or (statistics.posinf and statistics.neginf):
        value = np.nan
    else:
        value = np.inf if statistics.posinf else -np.inf
    once = statistics.count == 1
    return np.asarray(value, np.dtype(dtype) if once else np.float64)
