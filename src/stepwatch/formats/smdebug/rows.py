"""The steps of a run as records and as tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...record import Layout, StepRecord, TensorInfo
from ...statistics import COUNT, FIELDS, NUM_FIELDS, Array, Row
from ..native.observations import SCHEMA
from .catalog import Columns
from .event_files import EventFiles
from .index import Contents, SavedStep
from .observed import UNKNOWN_SHAPE, Observed, observed, row_of_reductions, row_of_value
from .reductions import PREFIX

#: What only the event files tell.
FROM_EVENTS = frozenset({"time_ns", "dtype", "shape", *FIELDS})
_TEXT = SCHEMA.field("tensor").type
_log = logging.getLogger("stepwatch")

Numbers = npt.NDArray[np.int64]


class Rows:
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
        self._observed: dict[int, tuple[Observed, ...]] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._infos: dict[tuple[str, str, str, tuple[int, ...]], TensorInfo] = {}
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self._missed: set[str] = set()

    def learn(self, steps: Sequence[SavedStep]) -> None:
        """Take in steps that were not seen before."""
        for saved in steps:
            number = id(saved.contents)
            if number not in self._contents:
                # What the number of an object stands for must stay alive as long as the number.
                self._contents[number] = saved.contents
                self._look_at_norms(saved)
                self._observe(number)

    def _look_at_norms(self, saved: SavedStep) -> None:
        if self._vector_norms is None and saved.reductions:
            self._vector_norms = self._files.has_vector_norms(saved)
            if self._vector_norms is False:
                for number in self._observed:
                    self._observe(number)

    def _observe(self, number: int) -> None:
        vector_norms = self._vector_norms is not False
        found = observed(self._contents[number], vector_norms=vector_norms)
        self._observed[number] = found
        self._names[number] = frozenset(one.name for one in found)
        new = self._names[number] - self._kinds.keys()
        if new:
            self._kinds.update((name, self._kind_of(name)) for name in new)
            self._kinds = dict(sorted(self._kinds.items()))

    def classify(self) -> None:
        """Work out anew of what kind every tensor is: more is known of the collections by now."""
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
            for place, one in enumerate(rows):
                dtype, shape, statistics[place] = self._one(saved, one)
                infos.append(self._info(one.name, dtype, shape))
            time_ns = self._files.time_ns(saved)
        except FileNotFoundError:
            infos = [self._info(one.name, "", one.shape or UNKNOWN_SHAPE) for one in rows]
            statistics[:] = np.nan
            self._say_missing(saved)
        layout_key = tuple(map(id, infos))
        layout = self._layouts.get(layout_key)
        if layout is None:
            layout = self._layouts[layout_key] = Layout(tuple(infos))
        raw = _Raw(
            lambda name: self._read(worker, saved, name),
            tuple(one.name for one in rows if one.has_value),
        )
        return StepRecord(
            worker, saved.mode, saved.step, saved.mode_step, time_ns, layout, statistics, raw
        )

    def _one(self, saved: SavedStep, one: Observed) -> tuple[str, tuple[int, ...], Row]:
        """Return dtype, shape and statistics of a tensor."""
        if one.has_value:
            value = self._files.value(saved, one.name)
            dtype = str(value.dtype) if value.dtype.kind == "U" else value.dtype.name
            return dtype, value.shape, row_of_value(value)
        if one.reductions:
            values = {
                each: self._files.value(saved, f"{PREFIX}{each.stored}/{one.name}")
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

    def _say_missing(self, saved: SavedStep) -> None:
        key = str(saved.event_key)
        if key not in self._missed:
            self._missed.add(key)
            _log.warning("%s is not there: of step %d only names are known", key, saved.step)

    def index_table(
        self,
        columns: Columns,
        places: Numbers,
        tensors: frozenset[str] | None,
        names: Sequence[str],
    ) -> pa.Table:
        """Return columns that need no event file.

        Args:
            columns: The steps of a worker.
            places: Which of them.
            tensors: Which tensors, all by default.
            names: Which columns; none of ``FROM_EVENTS``.
        """
        blocks = list(self._blocks(columns, places, tensors))
        step = _joined([np.repeat(where, len(rows)) for where, rows in blocks])
        order = _joined([np.tile([row for row, _ in rows], len(where)) for where, rows in blocks])
        observed_of = [[one for _, one in rows] for _, rows in blocks]
        times = [len(where) for where, _ in blocks]
        has_value = [
            np.tile([one.has_value for one in some], count)
            for some, count in zip(observed_of, times, strict=True)
        ]
        built = {
            "step": lambda: pa.array(columns.steps[step]),
            "mode_step": lambda: pa.array(columns.mode_steps[step]),
            "order": lambda: pa.array(order, pa.int32()),
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
        self, columns: Columns, places: Numbers, tensors: frozenset[str] | None
    ) -> Iterator[tuple[Numbers, list[tuple[int, Observed]]]]:
        """Yield the places of steps that hold the same, and the tensors with their order."""
        every = len(places) == len(columns.saved)
        for group in columns.groups:
            where = group if every else group[np.isin(group, places)]
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
    texts: list[str], codes: Numbers, missing: npt.NDArray[np.bool_] | None = None
) -> pa.DictionaryArray:
    distinct = list(dict.fromkeys(texts))
    position = {text: place for place, text in enumerate(distinct)}
    code_of = np.array([position[text] for text in texts], np.int32)
    indices = pa.array(code_of[codes] if len(texts) else codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()))


def _tiled(names: list[list[str]], times: list[int]) -> pa.DictionaryArray:
    every = [name for some in names for name in some]
    starts = np.cumsum([0, *(len(some) for some in names)])
    codes = [
        np.tile(np.arange(start, start + len(some)), count)
        for start, some, count in zip(starts, names, times, strict=False)
    ]
    return _encoded(every, _joined(codes))


class _Raw(Mapping[str, Array]):
    """The values of a step, read when asked for."""

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
