"""The steps of a run as records and as tables, also where only reductions were stored."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...model.record import Layout, StepRecord, TensorInfo
from ...numerics.columns import array, texts
from ...numerics.statistics import (
    ABS_MIN,
    COUNT,
    FIELDS,
    MAX,
    MIN,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    SUM,
    SUM_ABS,
    SUM_SQ,
    ZEROS,
    Array,
    Row,
    summarize,
)
from ..native.observations import SCHEMA
from .collections import Reduction
from .event_files import EventFiles
from .index import Columns, Contents, SavedStep
from .reductions import REDUCTION_PREFIX, parse_reduction_name

#: The shape of a tensor of which only reductions were stored.
UNKNOWN_SHAPE = (-1,)
_L1 = ("l1", "abs_l1")
_L2 = ("l2", "abs_l2")
_SUM_ABS = ("abs_sum", *_L1)
_EXTREMES = ("min", "max", "abs_min", "abs_max")
# Not the deviations: those of a single element are nan anyway.
_NAN_SHOWS = (*_EXTREMES, "sum", "mean", "abs_mean", *_SUM_ABS, *_L2)
_OVER_ALL = ("sum", "mean", "abs_mean", "prod", "abs_prod", "std", "variance", *_SUM_ABS, *_L2)
# A sum over a mean is a count if it is this close to one.
_CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class ObservedStep:
    """A tensor of a step.

    Args:
        name: Its name.
        has_value: Whether its value was saved.
        reductions: Its stored reductions.
        shape: Its shape, if that was saved by itself.
    """

    name: str
    has_value: bool
    reductions: tuple[Reduction, ...] = ()
    shape: tuple[int, ...] | None = None


def observe_step(contents: Contents, *, vector_norms: bool) -> tuple[ObservedStep, ...]:
    """Return the tensors of a step, in the order of saving.

    A stored reduction that does not follow from the statistics is a tensor of its own. Norms are
    over all elements (``vector_norms``), or of the matrix as NumPy has them.
    """
    found: list[ObservedStep] = []
    names = dict.fromkeys(_tensor(name) for name in contents.byte_ranges)
    for name in (*names, *(name for name in contents.shapes if name not in names)):
        shape = contents.shapes[name][0] if name in contents.shapes else None
        stored = contents.reductions.get(name, ())
        one = ObservedStep(name, name in contents.byte_ranges, stored, shape)
        found.append(one)
        follow = _following(one, vector_norms=vector_norms)
        found += [
            ObservedStep(f"{REDUCTION_PREFIX}{each.stored}/{name}", has_value=True)
            for each in stored
            if each.stored not in follow
        ]
    return tuple(found)


def _tensor(name: str) -> str:
    parsed = parse_reduction_name(name)
    return parsed[1] if parsed else name


def _following(one: ObservedStep, *, vector_norms: bool) -> set[str]:
    """Return which stored reductions of a tensor follow from its statistics."""
    have = {reduction.stored for reduction in one.reductions}
    counted = one.has_value or one.shape is not None or _has_count(have)
    follow = {"min", "max", "sum", "abs_min", "abs_sum"}
    if vector_norms or (one.shape is not None and len(one.shape) < 2):
        follow |= {*_L1, *_L2}
    if one.has_value or {"min", "max"} <= have:
        follow.add("abs_max")
    if counted:
        follow |= {"mean", "abs_mean"}
        if one.has_value or have & {"sum", "mean"}:
            follow |= {"std", "variance"}
    return follow


def _has_count(have: Collection[str]) -> bool:
    return {"sum", "mean"} <= set(have) or (
        "abs_mean" in have and any(name in have for name in _SUM_ABS)
    )


def row_of_value(value: Array) -> Row:
    """Return the statistics of a value; of text and complex numbers only how many there are."""
    if value.dtype.kind in "Uc":
        row = np.full(NUM_FIELDS, np.nan)
        row[COUNT] = value.size
        return row
    return summarize(value)


def row_of_reductions(reductions: Mapping[Reduction, Array], shape: tuple[int, ...] | None) -> Row:
    """Return the statistics of a tensor that follow from its stored reductions.

    smdebug's hook for PyTorch stores them without a dimension: there the variance is divided by
    N - 1, and norms are over all elements. Where they have one dimension NumPy computed them: the
    variance is divided by N, and a norm of a matrix is that of the linear map, which tells
    nothing about its elements.

    What is nan or infinite tells only that there are such elements: where it does, their count
    is 1, which stands for at least one.

    Args:
        reductions: Their values, of one element each.
        shape: The shape of the tensor; ``None`` if that is not known.

    Returns:
        Shape ``[NUM_FIELDS]``, float64, nan for what does not follow.
    """
    by_numpy = any(value.ndim for value in reductions.values())
    values = {
        reduction.stored: float(value.reshape(-1)[0])
        for reduction, value in reductions.items()
        if value.size == 1 and value.dtype.kind not in "Uc"
    }
    if by_numpy and (shape is None or len(shape) != 1):
        values = {name: value for name, value in values.items() if name not in (*_L1, *_L2)}
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    count = _count(known, reductions) if shape is None else math.prod(shape)
    total = _first(known, ("sum",), known.get("mean", math.nan) * count)
    if count == 1 and math.isfinite(total):
        return summarize(np.array(total))
    row = _row(known, count, total, freedom=count if by_numpy else count - 1)
    row[[NAN, POSINF, NEGINF]] = _non_finite(values)
    return row


def _row(known: Mapping[str, float], count: float, total: float, *, freedom: float) -> Row:
    row = np.full(NUM_FIELDS, np.nan)
    row[COUNT] = count
    row[MIN] = known.get("min", math.nan)
    row[MAX] = known.get("max", math.nan)
    row[ABS_MIN] = known.get("abs_min", math.nan)
    row[SUM] = total
    row[SUM_ABS] = _first(known, _SUM_ABS, known.get("abs_mean", math.nan) * count)
    variance = known.get("variance", known.get("std", math.nan) ** 2)
    # From the variance first: the other way round, few digits of it would be left.
    row[SUM_SQ] = variance * freedom + total**2 / count if count else 0.0
    if math.isnan(row[SUM_SQ]):
        row[SUM_SQ] = _first(known, _L2, math.nan) ** 2
    if row[MIN] > 0 or row[MAX] < 0 or row[ABS_MIN] > 0:
        row[ZEROS] = 0
    elif row[MIN] == row[MAX] == 0:
        row[ZEROS] = count
    return row


def _non_finite(values: Mapping[str, float]) -> tuple[float, float, float]:
    """Return how many elements are nan, plus and minus infinity: 0, at least 1, or unknown."""
    # One such element makes all of these nan or infinite, so where one is not, there is none.
    if any(math.isfinite(values.get(name, math.nan)) for name in _OVER_ALL) or (
        math.isfinite(values.get("min", math.nan)) and math.isfinite(values.get("max", math.nan))
    ):
        return 0, 0, 0
    has_nan = any(math.isnan(values.get(name, 0.0)) for name in _NAN_SHOWS)
    return (
        1 if has_nan else math.nan,
        1 if values.get("max") == math.inf else math.nan,
        1 if values.get("min") == -math.inf else math.nan,
    )


def _first(known: Mapping[str, float], names: tuple[str, ...], otherwise: float) -> float:
    return next((known[name] for name in names if name in known), otherwise)


def _count(known: Mapping[str, float], reductions: Mapping[Reduction, Array]) -> float:
    """Return how many elements make these a sum and a mean; nan where that is unknown."""
    for total, mean in (
        (known.get("sum"), known.get("mean")),
        (_first(known, _SUM_ABS, 0.0), known.get("abs_mean")),
    ):
        if total and mean:
            count = total / mean
            precision = max((_epsilon(value) for value in reductions.values()), default=0.0)
            near = abs(count - round(count)) < _CLOSE and count * precision * 8 < _CLOSE
            if near and round(count) >= 1:
                return float(round(count))
    return math.nan


def _epsilon(value: Array) -> float:
    return float(np.finfo(value.dtype.name).eps) if value.dtype.kind == "f" else 0.0


#: What only the event files tell.
FROM_EVENTS = frozenset({"time_ns", "dtype", "shape", *FIELDS})
_TEXT = SCHEMA.field("tensor").type
_log = logging.getLogger("stepwatch")

Numbers = npt.NDArray[np.int64]


class StepRows:
    """The tensors of steps, with their statistics.

    Args:
        files: Where the values lie.
        read: Returns a full value of a worker's step, by name.
        kind_of: Returns the kind of a tensor, by name.
    """

    def __init__(
        self,
        files: EventFiles,
        read: Callable[[str, SavedStep, str], Array],
        kind_of: Callable[[str], str],
    ) -> None:
        self._files = files
        self._read = read
        self._kind_of = kind_of
        self._kinds: dict[str, str] = {}
        self._vector_norms: bool | None = None
        self._contents: dict[int, Contents] = {}
        self._observed: dict[int, tuple[ObservedStep, ...]] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._infos: dict[tuple[str, str, str, tuple[int, ...]], TensorInfo] = {}
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self._missed: set[str] = set()

    def learn(self, steps: Sequence[SavedStep]) -> None:
        """Take in steps that are new."""
        for saved in steps:
            number = id(saved.contents)
            if number not in self._contents:
                # What the number of an object stands for must stay alive as long as the number.
                self._contents[number] = saved.contents
                self._check_norms(saved)
                self._observe(number)

    def _check_norms(self, saved: SavedStep) -> None:
        if self._vector_norms is None and saved.contents.reductions:
            self._vector_norms = self._files.has_vector_norms(saved)
            if self._vector_norms is False:
                for number in self._observed:
                    self._observe(number)

    def _observe(self, number: int) -> None:
        vector_norms = self._vector_norms is not False
        found = observe_step(self._contents[number], vector_norms=vector_norms)
        self._observed[number] = found
        self._names[number] = frozenset(one.name for one in found)
        new = self._names[number] - self._kinds.keys()
        if new:
            self._kinds.update((name, self._kind_of(name)) for name in new)
            self._kinds = dict(sorted(self._kinds.items()))

    def classify(self) -> None:
        """Determine the kind of every tensor anew: more is known of the collections by now."""
        self._kinds = {name: self._kind_of(name) for name in self._kinds}
        self._infos.clear()
        self._layouts.clear()

    def tensors(self) -> dict[str, str]:
        """Return the kind of every tensor, in the order of names."""
        return dict(self._kinds)

    def names_of(self, saved: SavedStep) -> frozenset[str]:
        """Return the tensors of a step."""
        return self._names[id(saved.contents)]

    def record(
        self, worker: str, saved: SavedStep, tensors: frozenset[str] | None = None
    ) -> StepRecord:
        """Return a step with the statistics of some tensors, all by default.

        Raises:
            CorruptRun: Its event file is damaged.
        """
        rows = [
            one
            for one in self._observed[id(saved.contents)]
            if tensors is None or one.name in tensors
        ]
        statistics = np.empty((len(rows), NUM_FIELDS))
        infos = []
        time_ns = 0
        try:
            if tensors is None:
                self._files.keep(saved)
            for index, one in enumerate(rows):
                dtype, shape, statistics[index] = self._one(saved, one)
                infos.append(self._info(one.name, dtype, shape))
            time_ns = self._files.time_ns(saved)
        except FileNotFoundError:
            infos = [self._info(one.name, "", one.shape or UNKNOWN_SHAPE) for one in rows]
            statistics[:] = np.nan
            self._report_missing(saved)
        layout_key = tuple(map(id, infos))
        layout = self._layouts.get(layout_key)
        if layout is None:
            layout = self._layouts[layout_key] = Layout(tuple(infos))
        raw = _RawValues(
            lambda name: self._read(worker, saved, name),
            tuple(one.name for one in rows if one.has_value),
        )
        return StepRecord(
            worker, saved.mode, saved.step, saved.mode_step, time_ns, layout, statistics, raw
        )

    def _one(self, saved: SavedStep, one: ObservedStep) -> tuple[str, tuple[int, ...], Row]:
        """Return dtype, shape and statistics of a tensor."""
        if one.has_value:
            value = self._files.value(saved, one.name)
            dtype = str(value.dtype) if value.dtype.kind == "U" else value.dtype.name
            return dtype, value.shape, row_of_value(value)
        if one.reductions:
            values = {
                each: self._files.value(saved, f"{REDUCTION_PREFIX}{each.stored}/{one.name}")
                for each in one.reductions
            }
            dtype = next(iter(values.values())).dtype.name
            shape = UNKNOWN_SHAPE if one.shape is None else one.shape
            return dtype, shape, row_of_reductions(values, one.shape)
        row = np.full(NUM_FIELDS, np.nan)
        row[COUNT] = np.prod(one.shape or (), dtype=np.float64)
        return "", one.shape or (), row

    def _info(self, name: str, dtype: str, shape: tuple[int, ...]) -> TensorInfo:
        key = (name, self._kinds[name], dtype, shape)
        info = self._infos.get(key)
        if info is None:
            info = self._infos[key] = TensorInfo(*key)
        return info

    def _report_missing(self, saved: SavedStep) -> None:
        key = str(saved.event_key)
        if key not in self._missed:
            self._missed.add(key)
            _log.warning("%s is not there: of step %d only names are known", key, saved.step)

    def index_table(
        self,
        columns: Columns,
        indices: Numbers,
        tensors: frozenset[str] | None,
        names: Sequence[str],
    ) -> pa.Table:
        """Return columns that need no event file.

        Args:
            columns: The steps of a worker.
            indices: The positions of the steps in ``columns``.
            tensors: Which tensors, all by default.
            names: Which columns; none of ``FROM_EVENTS``.
        """
        blocks = list(self._blocks(columns, indices, tensors))
        step = _joined([np.repeat(where, len(rows)) for where, rows in blocks])
        order = _joined([np.tile([row for row, _ in rows], len(where)) for where, rows in blocks])
        observed_of = [[one for _, one in rows] for _, rows in blocks]
        times = [len(where) for where, _ in blocks]
        has_value = [
            np.tile([one.has_value for one in some], count)
            for some, count in zip(observed_of, times, strict=True)
        ]
        built = {
            "step": lambda: array(columns.steps[step]),
            "mode_step": lambda: array(columns.mode_steps[step]),
            "order": lambda: array(order, pa.int32()),
            "mode": lambda: _encoded([mode.value for mode in columns.modes], step),
            "tensor": lambda: _tiled([[one.name for one in some] for some in observed_of], times),
            "collection": lambda: _tiled(
                [[self._kinds[one.name] for one in some] for some in observed_of], times
            ),
            "blob": lambda: _encoded(
                [saved.event_key or "" for saved in columns.saved], step, _joined(has_value) == 0
            ),
        }
        schema = pa.schema([SCHEMA.field(name) for name in names])
        return pa.table(
            {
                name: built[name]()
                if name in built
                else pa.nulls(len(step), SCHEMA.field(name).type)
                for name in names
            },
            schema=schema,
        )

    def _blocks(
        self, columns: Columns, indices: Numbers, tensors: frozenset[str] | None
    ) -> Iterator[tuple[Numbers, list[tuple[int, ObservedStep]]]]:
        """Yield the positions of steps that hold the same, and the tensors with their order."""
        every = len(indices) == len(columns.saved)
        for group in columns.groups:
            where = group if every else group[np.isin(group, indices)]
            rows = [
                (order, one)
                for order, one in enumerate(self._observed[id(columns.saved[group[0]].contents)])
                if tensors is None or one.name in tensors
            ]
            if len(where) and rows:
                yield where, rows


def _joined(parts: Sequence[npt.NDArray[np.int64]]) -> Numbers:
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)


def _encoded(
    names: list[str], codes: Numbers, missing: npt.NDArray[np.bool_] | None = None
) -> pa.DictionaryArray:
    distinct = list(dict.fromkeys(names))
    position = {name: index for index, name in enumerate(distinct)}
    code_of = np.array([position[name] for name in names], np.int32)
    indices = array(code_of[codes] if len(names) else codes.astype(np.int32), nulls=missing)
    return pa.DictionaryArray.from_arrays(indices, texts(distinct))


def _tiled(names: list[list[str]], times: list[int]) -> pa.DictionaryArray:
    every = [name for some in names for name in some]
    starts = np.cumsum([0, *(len(some) for some in names)])
    codes = [
        np.tile(np.arange(start, start + len(some)), count)
        for start, some, count in zip(starts, names, times, strict=False)
    ]
    return _encoded(every, _joined(codes))


class _RawValues(Mapping[str, Array]):
    """The values of a step, each read when it is used."""

    def __init__(self, read: Callable[[str], Array], names: tuple[str, ...]) -> None:
        self._read = read
        self._names = names

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
