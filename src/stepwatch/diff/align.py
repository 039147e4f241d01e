"""Two runs beside each other: the steps, tensors and workers they have in common, row by row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import StepUnavailable, TensorUnavailable
from ..formats.native.observations import text_codes
from ..model.collection import compiled
from ..model.json_text import parse_json
from ..model.steps import Mode
from ..numerics.statistics import COUNT, FIELDS, MIN, NUM_FIELDS, SUM_ABS, ZEROS, Row
from ..trial.chunks import Chunk, Chunks, RangeCache
from ..trial.trial import Trial
from .comparison import field_distance, field_scale, is_floating, rounding

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Times and memory are never the same twice.
TIMES = frozenset({
    "loop/step_seconds",
    "loop/data_wait_seconds",
    "loop/host_memory_bytes",
    "loop/host_memory_limit_bytes",
    "loop/device_memory_bytes",
    "loop/device_memory_reserved_bytes",
    "loop/device_memory_limit_bytes",
})  # fmt: skip
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A step that two runs have in common.

    Args:
        mode: The mode of the step.
        mode_step: The step within its mode, which is what pairs it.
        here: The global step in the first run.
        there: The global step in the second run.
    """

    mode: Mode
    mode_step: int
    here: int
    there: int

    def __str__(self) -> str:
        return f"{self.mode} step {self.mode_step}"


@dataclass(frozen=True, slots=True)
class Only:
    """What one run has and the other has not.

    Args:
        steps: How many steps, by mode.
        tensors: Names, sorted.
        workers: Names.
    """

    steps: dict[str, int]
    tensors: list[str]
    workers: list[str]


class TwoRuns:
    """Two runs, their steps paired by mode and step within it, tensors and workers by name.

    Args:
        here: The first run.
        there: The second run.
        ignore: Regular expressions; tensors whose name one of them finds are left out.

    Raises:
        TensorUnavailable: They have no tensor, or no worker, in common.
        StepUnavailable: They have no step in common.
        ConfigError: ``ignore`` does not compile.
    """

    def __init__(self, here: Trial, there: Trial, ignore: Collection[str] = ()) -> None:
        self.here, self.there = here, there
        kinds, others = (_tensors(trial, ignore) for trial in (here, there))
        #: The collection of each tensor that both have, by name.
        self.tensors = {name: kinds[name] for name in kinds if name in others}
        self.workers = [worker for worker in here.workers if worker in there.workers]
        self._check_names(list(kinds), list(others))
        self._pair()
        self.only_here = self._only(here, there, sorted(kinds.keys() - others.keys()))
        self.only_there = self._only(there, here, sorted(others.keys() - kinds.keys()))

    def __len__(self) -> int:
        return len(self.steps_here)

    def pair(self, index: int) -> Pair:
        """Return a pair of steps, counted from 0 in the order of the first run."""
        columns = (self._mode_steps, self.steps_here, self.steps_there)
        return Pair(
            self._modes[int(self._mode_of[index])], *(int(column[index]) for column in columns)
        )

    def names_of(self, collection: str) -> frozenset[str]:
        """Return the tensors of a built-in collection that both have."""
        return frozenset(name for name, kind in self.tensors.items() if kind == collection)

    def _check_names(self, here: list[str], there: list[str]) -> None:
        both = f"{self.here.url} and {self.there.url}"
        if not self.tensors:
            raise TensorUnavailable(
                f"{both} have no tensor in common: {_some(here)} in the first, {_some(there)} in "
                "the second; compare runs of the same model"
            )
        if not self.workers:
            raise TensorUnavailable(
                f"{both} have no worker in common: {_some(self.here.workers)} in the first, "
                f"{_some(self.there.workers)} in the second"
            )

    def _pair(self) -> None:
        self._modes = [mode for mode in self.here.modes if mode in self.there.modes]
        found = [np.empty((0, 4), np.int64)]
        for number, mode in enumerate(self._modes):
            within, at_here, at_there = np.intersect1d(
                _array(self.here.steps(mode)),
                _array(self.there.steps(mode)),
                assume_unique=True,
                return_indices=True,
            )
            columns = (
                np.full(len(within), number),
                within,
                _array(self.here.global_steps(mode))[at_here],
                _array(self.there.global_steps(mode))[at_there],
            )
            found.append(np.stack(columns, axis=1))
        pairs = np.concatenate(found)
        if not len(pairs):
            raise StepUnavailable(
                f"{self.here.url} and {self.there.url} have no step in common: "
                f"{_extent(self.here)} in the first, {_extent(self.there)} in the second"
            )
        _, first = np.unique(pairs[:, 2], return_index=True)
        self._mode_of, self._mode_steps, self.steps_here, self.steps_there = pairs[first].T

    def _only(self, one: Trial, other: Trial, tensors: list[str]) -> Only:
        steps = {
            str(mode): len(set(one.steps(mode)).difference(other.steps(mode))) for mode in one.modes
        }
        workers = [worker for worker in one.workers if worker not in other.workers]
        return Only({mode: count for mode, count in steps.items() if count}, tensors, workers)


def _tensors(trial: Trial, ignore: Collection[str]) -> dict[str, str]:
    searches = [compiled(pattern).search for pattern in ignore]
    return {
        name: kind
        for name, kind in trial.reader.tensors().items()
        if name not in TIMES and not any(search(name) for search in searches)
    }


def _array(steps: list[int]) -> Ints:
    return np.array(steps, np.int64)


def _some(names: Collection[str]) -> str:
    listed = ", ".join(list(names)[:_NAMED])
    return (listed + ", …" if len(names) > _NAMED else listed) or "none"


def _extent(trial: Trial) -> str:
    each = {mode: trial.steps(mode) for mode in trial.modes}
    return ", ".join(f"{mode} {of[0]} to {of[-1]}" for mode, of in each.items() if of) or "none"


#: What shows whether a tensor differs, and by how much: little to read.
SUMMARY = ("step", "tensor", "dtype", "count", "sum", "sum_abs", "digest")
#: All that is compared.
EVERYTHING = ("step", "order", "tensor", "dtype", "shape", *FIELDS, "digest", "blob")


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of two runs at neighbouring steps. Every array has a row for each both have.

    Args:
        low: First pair of steps that is here.
        high: Last one.
        at: The pair of steps.
        tensor: Index of the name in ``TwoRuns.tensors``.
        worker: Index in ``TwoRuns.workers``.
        order: Index in the order of execution of the first run.
        here: Statistics in the first run, shape ``[rows, NUM_FIELDS]``, float64; nan for those
            that were not read.
        there: Those of the second run.
        differs: Whether it is not the same, bit for bit.
        elsewhere: Whether it differs though the statistics are the same: by digest or by shape.
        epsilon: Distance from 1 to the next number of its dtype; 0 for what does not round.
        has_values: Whether both runs have its full value.
        kinds: Dtype and shape in both runs, as indices into ``texts``; shape ``[4, rows]``.
        texts: Dtypes and shapes.
    """

    low: int
    high: int
    at: Ints
    tensor: Ints
    worker: Ints
    order: Ints
    here: Row
    there: Row
    differs: Bools
    elsewhere: Bools
    epsilon: Row
    has_values: Bools
    kinds: Ints
    texts: list[str]

    def relative(self) -> Row:
        """Return the largest difference of each row, as a fraction; inf where nothing explains it.

        Sums are a fraction of the sum of magnitudes, extremes of the largest magnitude; of both
        runs the larger counts. How many zeros there are does not enter: the least noise ends
        some. What is not finite, other counts, and the same statistics of other values are
        infinitely far apart.
        """
        distance = known_distance(self.here, self.there)
        distance[:, ZEROS] = 0.0
        scale = np.fmax(field_scale(self.here), field_scale(self.there))
        # A run that stored less may know a sum, but not that of the magnitudes.
        own = np.fmax(np.abs(self.here), np.abs(self.there))
        scale = np.where(np.isnan(scale), own, scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(distance == 0, 0.0, distance / scale)
        shares = np.where(np.isnan(shares), np.inf, shares).max(axis=1)
        return np.where(self.differs, np.where(self.elsewhere, np.inf, shares), 0.0)

    def magnitude(self) -> Row:
        """Return the mean magnitude of each row, in the run in which it is larger."""
        with np.errstate(divide="ignore", invalid="ignore"):
            both = [rows[:, SUM_ABS] / rows[:, COUNT] for rows in (self.here, self.there)]
        return np.nan_to_num(np.fmax(*both))


@dataclass(frozen=True, slots=True)
class _Side:
    """Rows of one run; ``key`` is the same for the same row of the other run."""

    key: Ints
    order: Ints
    statistics: Row
    digest: npt.NDArray[np.uint64]
    has_digest: Bools
    has_value: Bools
    dtype: Ints
    shape: Ints


class Blocks:
    """Reads two runs beside each other."""

    def __init__(self, runs: TwoRuns) -> None:
        self._runs = runs
        self.chunks = (Chunks(runs.here), Chunks(runs.there))
        self._steps = [(runs.steps_here, np.arange(len(runs)))]
        order = np.argsort(runs.steps_there, kind="stable")
        self._steps.append((runs.steps_there[order], order))
        self._tensor_ids = {name: index for index, name in enumerate(runs.tensors)}
        self._texts: dict[str, int] = {}
        self._recent: RangeCache[Block] = RangeCache()

    def around(
        self, index: int, tensors: frozenset[str] | None = None, columns: tuple[str, ...] = SUMMARY
    ) -> Block:
        """Return the rows of a pair of steps, and of those that lie in the same parts.

        Args:
            index: The number of the pair.
            tensors: Names; ``None`` for all.
            columns: ``SUMMARY`` or ``EVERYTHING``.
        """
        kind = (tensors, columns)
        kept = self._recent.find(kind, index)
        return kept or self._recent.keep(kind, self._read(index, tensors, columns))

    def _read(self, index: int, tensors: frozenset[str] | None, columns: tuple[str, ...]) -> Block:
        pair = self._runs.pair(index)
        here = self.chunks[0].around(pair.here, tensors, columns)
        there = self.chunks[1].around(pair.there, tensors, columns)
        low, high = self._common_range(index, here, there)
        sides = [self._side(which, chunk) for which, chunk in enumerate((here, there))]
        return self._joined(low, high, *sides)

    def _common_range(self, index: int, here: Chunk, there: Chunk) -> tuple[int, int]:
        """Return the first and last of the pairs around one that lie wholly in both chunks."""
        mine, theirs = self._runs.steps_here, self._runs.steps_there
        outside = (mine < here.low) | (mine > here.high)
        outside |= (theirs < there.low) | (theirs > there.high)
        outside[index] = False
        edges = np.flatnonzero(outside)
        edge = int(np.searchsorted(edges, index))
        low = int(edges[edge - 1]) + 1 if edge else 0
        high = int(edges[edge]) - 1 if edge < len(edges) else len(self._runs) - 1
        return low, high

    def _side(self, which: int, chunk: Chunk) -> _Side:
        sides = [
            self._rows(which, self._runs.workers.index(worker), table)
            for worker, table in chunk.tables
            if worker in self._runs.workers
        ]
        if not sides:
            none = np.empty(0, np.int64)
            return _Side(
                none, none, np.empty((0, NUM_FIELDS)), none.astype(np.uint64),
                none.astype(bool), none.astype(bool), none, none,
            )  # fmt: skip
        return _Side(
            *(np.concatenate([getattr(one, name) for one in sides]) for name in _Side.__slots__)
        )

    def _rows(self, which: int, worker: int, table: pa.Table) -> _Side:
        names = text_codes(table.column("tensor"))
        ids = np.array([self._tensor_ids.get(name, -1) for name in names.values] + [-1], np.int64)
        tensor = ids[names.codes]
        steps, pair_of = self._steps[which]
        step = table.column("step").to_numpy()
        position = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
        kept = np.flatnonzero((tensor >= 0) & (steps[position] == step))
        whose = worker * len(self._tensor_ids) + tensor
        key = whose * len(steps) + pair_of[position]
        known = set(table.column_names)
        statistics = np.full((len(table), NUM_FIELDS), np.nan)
        for field, name in enumerate(FIELDS):
            if name in known:
                statistics[:, field] = table.column(name).to_numpy()
        digest = table.column("digest")
        nothing = np.full(len(table), -1, np.int64)
        return _Side(
            key[kept],
            (table.column("order").to_numpy() if "order" in known else nothing)[kept],
            statistics[kept],
            digest.fill_null(0).to_numpy()[kept],
            digest.is_valid().to_numpy()[kept],
            (table.column("blob").is_valid().to_numpy() if "blob" in known else nothing >= 0)[kept],
            self._codes(table, "dtype")[kept],
            (self._codes(table, "shape") if "shape" in known else nothing)[kept],
        )

    def _codes(self, table: pa.Table, column: str) -> Ints:
        """Return a column of texts as indices into the texts of both runs."""
        codes = text_codes(table.column(column))
        ids = [self._texts.setdefault(text, len(self._texts)) for text in codes.values]
        return np.array([*ids, -1], np.int64)[codes.codes]

    def _joined(self, low: int, high: int, here: _Side, there: _Side) -> Block:
        key, mine, theirs = np.intersect1d(
            here.key, there.key, assume_unique=True, return_indices=True
        )
        at = key % len(self._runs)
        inside = (low <= at) & (at <= high)
        key, mine, theirs, at = key[inside], mine[inside], theirs[inside], at[inside]
        whose = key // len(self._runs)
        texts = list(self._texts)
        kinds = np.stack(
            [here.dtype[mine], here.shape[mine], there.dtype[theirs], there.shape[theirs]]
        )
        differs, elsewhere = _differ(here, mine, there, theirs, _sizes(kinds[1], texts))
        # Not the dtype: a run that stored less may not know it, and values tell.
        other_shape = kinds[1] != kinds[3]
        return Block(
            low=low,
            high=high,
            at=at,
            tensor=whose % len(self._tensor_ids),
            worker=whose // len(self._tensor_ids),
            order=here.order[mine],
            here=here.statistics[mine],
            there=there.statistics[theirs],
            differs=differs | other_shape,
            elsewhere=elsewhere | other_shape,
            epsilon=_epsilons(kinds[0], texts),
            has_values=here.has_value[mine] & there.has_value[theirs],
            kinds=kinds,
            texts=texts,
        )


def known_distance(here: Row, there: Row) -> Row:
    """Return how far apart statistics are, field by field; 0 for fields that one does not know.

    A run that stored less has nan for what it does not know, some count among it.

    Args:
        here: Shape ``[rows, NUM_FIELDS]``, float64.
        there: Of the same shape.
    """
    distance = field_distance(here, there)
    counts = np.concatenate([here[:, :MIN], there[:, :MIN]], axis=1)
    less: Bools = np.isnan(counts).any(axis=1)
    unknown = less[:, np.newaxis] & (np.isnan(here) | np.isnan(there))
    return np.where(unknown, 0.0, distance)


def _differ(here: _Side, mine: Ints, there: _Side, theirs: Ints, sizes: Row) -> tuple[Bools, Bools]:
    """Return which rows differ, and which of them have the same statistics all the same.

    A digest is of the last time that a tensor was observed in the step. So it decides alone where
    there was one time only: no more elements than the tensor has.
    """
    rows, others = here.statistics[mine], there.statistics[theirs]
    apart = known_distance(rows, others).any(axis=1)
    both = here.has_digest[mine] & there.has_digest[theirs]
    other_digest = both & (here.digest[mine] != there.digest[theirs])
    once = both & ~(rows[:, COUNT] > sizes) & ~(others[:, COUNT] > sizes)
    return np.where(once, other_digest, apart | other_digest), other_digest & ~apart


def _sizes(shapes: Ints, texts: list[str]) -> Row:
    """Return how many elements tensors of these shapes have; inf where the shape was not read."""
    sizes = np.full(len(texts) + 1, np.inf)
    for shape in np.unique(shapes[shapes >= 0]).tolist():
        sizes[shape] = prod(parse_json(texts[shape]))
    return sizes[shapes]


def _epsilons(dtypes: Ints, texts: list[str]) -> Row:
    """Return the distance from 1 to the next number of each dtype; 0 for what does not round."""
    epsilons = np.zeros(len(texts))
    for code in np.unique(dtypes).tolist():
        dtype = np.dtype(texts[code])
        epsilons[code] = rounding(dtype) if is_floating(dtype) else 0.0
    return epsilons[dtypes]
