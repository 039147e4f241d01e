"""What leaves a compiled function for us: the statistics of tensors, and full values of some.

What a graph holds is decided when it is traced: the statistics of what is wanted at a step, and
full values where those are. Where a later step wants others, another graph is compiled, and each is
used where it fits; most trainings want the same at every step and have one, or by a budget two.

Of a single number, and on the CPU of all that is in no loop, only the value leaves: it is read
there faster than a compiled function sums it up. All of one dtype leave as one vector. Fewer
outputs cost less; and a compiler goes on fusing what computes a value with what uses it, so that
the training stays the same bit for bit, which it did not where each value was an output itself.

A row of ``WIDTH`` int32 numbers stands for one array: how many elements are nan, inf, -inf and
zero; then the floats of a packed row and the power of two by which the elements were divided before
they were added, as their bits: one number for each float32, two for each float64. Without that
division the squares of float32 gradients of 1e-25 would sum to zero, and those of 1e25 to infinity;
and float64 is not at hand in most trainings.

What the rows are of is in the structure of the function's output, which a compiled function keeps
beside its graph: whichever of its graphs runs, its output describes itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.extend.core import get_opaque_trace_state

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, STATISTICS
from ...model.record import TensorInfo
from ...numerics.packed import unpack_rows
from ...numerics.statistics import NUM_FIELDS
from ..losses import LossCall
from ..observations import split_vectors

#: What a graph holds of a tensor: nothing, its statistics, its value, or both.
NONE, PACKED, VALUE, FULL = 0, 1, 2, 3


class GraphPlan:
    """What a graph holds of each tensor; a tensor is added when it is first observed.

    Args:
        step: The step for which the graph is compiled.
    """

    def __init__(self, step: OpenStep) -> None:
        self.step = step
        self.only_losses = step.has_only_losses
        self._held: dict[str, tuple[TensorInfo, int]] = {}
        # Of each function that ran by it, how long the longest call took, in which it was compiled.
        self._compiling_s: dict[int, float] = {}
        # How long each takes to return what is observed in it, which is always as much.
        self._returning_s: dict[int, float] = {}
        self._unread_s = 0.0

    def of(self, info: TensorInfo) -> int:
        if self.only_losses and not self.step.wants(info.collection):
            return NONE  # nor is it in any other step for which this is
        known = self._held.get(info.name)
        if known is None:
            known = self._held[info.name] = info, _held_level(self.step, info)
        return known[1]

    def ran(self, function: object, seconds: float, stats: TraceStats) -> None:
        """Note a call of a function that was compiled for this."""
        key = id(function)
        if seconds > self._compiling_s.get(key, 0.0):
            self._compiling_s[key] = seconds
        if self.step.has_only_losses and not self.only_losses:
            if key not in self._returning_s:
                self._returning_s[key] = returning_s(stats.flat)
            self._unread_s += self._returning_s[key]

    def serves(self) -> bool:
        """Return whether this is for now to run for steps of losses alone, too.

        Until what it returns for nobody has taken as long as to compile other graphs does.
        """
        if self.only_losses or self._unread_s >= sum(self._compiling_s.values()):
            return False
        return is_on_host()

    def fits(self, step: OpenStep) -> bool:
        """Return whether this is what a step wants of all tensors known here."""
        return self.only_losses == step.has_only_losses and all(
            _held_level(step, info) == held for info, held in self._held.values()
        )


class GraphPlans:
    """The plans of all graphs that were compiled so far."""

    def __init__(self) -> None:
        self._made: list[GraphPlan] = []

    def at(self, step: OpenStep, *, is_compiled: bool) -> GraphPlan:
        """Return the plan that fits a step, a new one if none does.

        Args:
            is_compiled: Whether what runs is compiled for it.
        """
        fitting = next((one for one in self._made if one.fits(step)), None)
        if fitting is None and is_compiled and step.has_only_losses:
            fitting = next((one for one in self._made if one.serves()), None)
        if fitting is None:
            fitting = GraphPlan(step)
            self._made.append(fitting)
        fitting.step = step
        return fitting


# What an output of a compiled function costs on the host, and how fast what is in it is copied.
_OUTPUT_S, _BYTES_PER_S = 20e-6, 4e9


def returning_s(vectors: Iterable[Any]) -> float:
    """Return about how long a compiled function takes to return vectors on the host, seconds."""
    sizes: list[int] = [vector.nbytes for vector in vectors]
    return _OUTPUT_S * len(sizes) + sum(sizes) / _BYTES_PER_S


def _held_level(step: OpenStep, info: TensorInfo) -> int:
    level = step.level(info)
    if level == NOTHING:
        return NONE
    if math.prod(info.shape) == 1 or is_on_host():
        return VALUE
    return PACKED if level == STATISTICS else FULL


@lru_cache(maxsize=1)  # it does not change once anything was traced
def is_on_host() -> bool:
    """Return whether arrays are read where they lie; called while something is traced."""
    return bool(jax.default_backend() == "cpu" and jax.process_count() == 1)


PackedStats = npt.NDArray[np.int32]

_NUM_COUNTS, _NUM_FLOATS = 4, 7
WIDTH = _NUM_COUNTS + 2 * _NUM_FLOATS
_EXPONENT_BITS = 0x7F800000
_INFINITY = float("inf")


def is_readable(value: Any) -> bool:
    """Return whether an array has statistics: bool, integers and real floats of any width."""
    kinds = (jnp.floating, jnp.integer, jnp.bool_)
    return any(jnp.issubdtype(value.dtype, kind) for kind in kinds)


def pack_stats(values: Sequence[jax.Array]) -> jax.Array:
    """Return the statistics of arrays; a compiler traces this.

    Args:
        values: At least one, each of a dtype that ``is_readable``; any shapes.

    Returns:
        Shape ``[values, WIDTH]``, int32.
    """
    return jnp.stack([_row(value) for value in values])


def _row(value: jax.Array) -> jax.Array:
    is_wide = value.dtype.itemsize == 8
    dtype = jnp.float64 if is_wide else jnp.float32
    flat = jax.lax.stop_gradient(value).reshape(-1).astype(dtype)
    magnitude = jnp.abs(flat)
    is_finite = magnitude < _INFINITY
    divisor = jnp.ones((), dtype) if is_wide else _power_of_two(magnitude, is_finite)
    counts, floats = _reduce(flat, magnitude, is_finite, divisor)
    return _as_row(jnp.stack(counts), [*floats, divisor])


def _power_of_two(magnitude: jax.Array, is_finite: jax.Array) -> jax.Array:
    """Return the power of two at or below the greatest finite magnitude, shape ``[]``, float32."""
    greatest = jnp.max(jnp.where(is_finite, magnitude, 0.0), initial=0.0)
    bits = jax.lax.bitcast_convert_type(greatest, jnp.int32) & _EXPONENT_BITS
    # Its inverse must be a normal number, too: others may be taken for zero.
    return jnp.clip(jax.lax.bitcast_convert_type(bits, jnp.float32), 2.0**-126, 2.0**126)


def _reduce(
    flat: jax.Array, magnitude: jax.Array, is_finite: jax.Array, divisor: jax.Array
) -> tuple[Sequence[jax.Array], Sequence[jax.Array]]:
    """Reduce in one pass: eleven reductions by themselves took eight times as long on a CPU."""
    scaled = jnp.where(is_finite, flat, 0.0) * (1 / divisor)
    kinds = (flat != flat, flat == _INFINITY, flat == -_INFINITY, flat == 0)
    operands = (
        *(kind.astype(jnp.int32) for kind in kinds),
        jnp.where(is_finite, flat, _INFINITY),
        jnp.where(is_finite, flat, -_INFINITY),
        scaled,
        jnp.abs(scaled),
        scaled * scaled,
        jnp.where(is_finite, magnitude, _INFINITY),
    )
    starts = (*[0] * 4, _INFINITY, -_INFINITY, 0, 0, 0, _INFINITY)
    initial = tuple(
        jnp.asarray(start, operand.dtype) for start, operand in zip(starts, operands, strict=True)
    )
    reduced = jax.lax.reduce(operands, initial, _combine_partials, (0,))
    return reduced[:_NUM_COUNTS], reduced[_NUM_COUNTS:]


def _combine_partials(
    left: Sequence[jax.Array], right: Sequence[jax.Array]
) -> tuple[jax.Array, ...]:
    sums = [a + b for a, b in zip(left, right, strict=True)]
    least, greatest = jnp.minimum(left[4], right[4]), jnp.maximum(left[5], right[5])
    return (*sums[:4], least, greatest, *sums[6:9], jnp.minimum(left[9], right[9]))


_rows_of = jax.vmap(_row)  # of as many single numbers; as JAX has it, before a hook replaces it


def merged_rows(
    packed: jax.Array, infos: Sequence[TensorInfo], are_means: Sequence[bool]
) -> jax.Array:
    """Return the statistics of tensors each of which is stacked of several; a compiler traces this.

    Args:
        packed: Those of what is stacked, shape ``[members, ..., values, WIDTH]``, int32.
        infos: Of which tensors they are.
        are_means: Of which of these a mean is meant: single numbers.

    Returns:
        Shape ``[..., values, WIDTH]``, int32.
    """
    merged = [
        _mean_row(packed[..., index, :], info) if is_mean else _sum_row(packed[..., index, :], info)
        for index, (info, is_mean) in enumerate(zip(infos, are_means, strict=True))
    ]
    return jnp.stack(merged, axis=-2)


def _sum_row(rows: jax.Array, info: TensorInfo) -> jax.Array:
    floats = _floats_of(rows, info)
    divisor = floats[6].max(0)
    scale = floats[6] / divisor
    sums = [(floats[2] * scale).sum(0), (floats[3] * scale).sum(0), (floats[4] * scale**2).sum(0)]
    found = [floats[0].min(0), floats[1].max(0), *sums, floats[5].min(0), divisor]
    return _as_row(rows[..., :_NUM_COUNTS].sum(0), found)


def _mean_row(rows: jax.Array, info: TensorInfo) -> jax.Array:
    floats = _floats_of(rows, info)
    nan, inf, minus_inf = (rows[..., at] > 0 for at in range(3))
    value = jnp.where(inf, _INFINITY, jnp.where(minus_inf, -_INFINITY, floats[0]))
    value = jnp.where(nan, jnp.nan, value).mean(0)
    return _rows_of(value.reshape(-1)).reshape(*value.shape, WIDTH)


def _floats_of(rows: jax.Array, info: TensorInfo) -> list[jax.Array]:
    """Return the floats of rows, each of shape ``rows.shape[:-1]``."""
    if np.dtype(info.dtype).itemsize < 8:
        bits = rows[..., _NUM_COUNTS : _NUM_COUNTS + _NUM_FLOATS]
        floats = jax.lax.bitcast_convert_type(bits, jnp.float32)
    else:
        bits = rows[..., _NUM_COUNTS:].reshape(*rows.shape[:-1], _NUM_FLOATS, 2)
        floats = jax.lax.bitcast_convert_type(bits, jnp.float64)
    return [floats[..., at] for at in range(_NUM_FLOATS)]


def _as_row(counts: jax.Array, floats: Sequence[jax.Array]) -> jax.Array:
    bits = jax.lax.bitcast_convert_type(jnp.stack(floats, axis=-1), jnp.int32)
    bits = bits.reshape(*counts.shape[:-1], -1)
    gap = jnp.zeros((*counts.shape[:-1], WIDTH - _NUM_COUNTS - bits.shape[-1]), jnp.int32)
    return jnp.concatenate([counts, bits, gap], axis=-1)


def unpack_stats(sent: PackedStats, infos: Sequence[TensorInfo]) -> npt.NDArray[np.float64]:
    """Return what ``pack_stats`` computed as statistics.

    Args:
        sent: Shape ``[..., values, WIDTH]``, int32; of loops with their turns in front.
        infos: Of which tensors they are.

    Returns:
        Shape ``[..., values, NUM_FIELDS]``, float64.
    """
    turns = math.prod(sent.shape[:-2])
    shape, sent = sent.shape[:-1], np.ascontiguousarray(sent).reshape(-1, WIDTH)
    ends = _NUM_COUNTS + _NUM_FLOATS
    narrow = np.ascontiguousarray(sent[:, _NUM_COUNTS:ends]).view(np.float32)
    wide = np.ascontiguousarray(sent[:, _NUM_COUNTS:]).view(np.float64)
    is_wide, sizes = _widths_and_sizes(tuple(infos))
    floats = np.where(np.tile(is_wide, (turns, 1)), wide, narrow.astype(np.float64))
    counts = np.column_stack([np.tile(sizes, turns), sent[:, :_NUM_COUNTS]])
    return unpack_rows(counts, floats[:, :-1], floats[:, -1]).reshape(*shape, NUM_FIELDS)


@lru_cache(maxsize=64)  # the turns of a loop are alike
def _widths_and_sizes(
    infos: tuple[TensorInfo, ...],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Return of which tensors an element has 8 bytes, shape ``[tensors, 1]``, and their sizes."""
    is_wide = np.array([np.dtype(info.dtype).itemsize == 8 for info in infos])[:, None]
    return is_wide, np.array([np.prod(info.shape, dtype=np.float64) for info in infos])


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["packed", "flat", "whole", "inner"],
    meta_fields=["infos", "packed_of", "flat_of", "whole_of", "trains", "runs", "is_loop"],
)
@dataclass(frozen=True)
class TraceStats:
    """What was observed in a traced function.

    Args:
        packed: Statistics, shape ``[packed_of, WIDTH]``, int32; ``None`` if there are none.
        flat: Values of tensors, one vector for all of a dtype.
        whole: Full values of some of the tensors.
        inner: What was observed in loops inside.
        packed_of: The indexes in ``infos`` of the tensors whose statistics are in ``packed``.
        flat_of: For each vector of ``flat`` the indexes in ``infos`` of what lies in it.
        whole_of: The indexes in ``infos`` of the tensors whose values are in ``whole``.
        trains: Whether gradients were computed.
        runs: Whether a module ran of which nothing is observed.
        is_loop: Whether all arrays have one more axis in front: the turns of a loop.
    """

    packed: Any = None
    flat: tuple[Any, ...] = ()
    whole: tuple[Any, ...] = ()
    inner: tuple[TraceStats, ...] = ()
    infos: tuple[TensorInfo, ...] = ()
    packed_of: tuple[int, ...] = ()
    flat_of: tuple[tuple[int, ...], ...] = ()
    whole_of: tuple[int, ...] = ()
    trains: bool = False
    runs: bool = False
    is_loop: bool = False

    def __bool__(self) -> bool:
        return bool(self.infos or self.inner or self.trains or self.runs)

    @property
    def kinds(self) -> set[str]:
        return {info.collection for info in self.infos}.union(*(one.kinds for one in self.inner))

    def as_loop(self) -> TraceStats:
        """Return it as that of a loop, each of whose turns gave this."""
        return replace(self, is_loop=bool(self))

    def turns(self) -> Sequence[TraceStats]:
        leaves, structure = jax.tree.flatten(replace(self, is_loop=False))
        return [structure.unflatten(turn) for turn in zip(*leaves, strict=True)]


@dataclass(frozen=True)
class TraceStep:
    """Something of one step: tensors, with statistics and values by their index."""

    infos: tuple[TensorInfo, ...]
    statistics: dict[int, npt.NDArray[np.float64]]
    values: dict[int, Any]


def trace_steps(stats: TraceStats) -> list[list[TraceStep]]:
    """Return the steps of what was observed, in order: one, or those of a loop that trains.

    Args:
        stats: With arrays of NumPy.
    """
    return _steps_of(_unpacked(stats))


def _unpacked(stats: TraceStats) -> TraceStats:
    """Return it with ``packed`` as statistics, those of all turns of a loop at once."""
    rows = stats.packed
    if stats.packed_of:
        rows = unpack_stats(rows, [stats.infos[index] for index in stats.packed_of])
    return replace(stats, packed=rows, inner=tuple(map(_unpacked, stats.inner)))


def _steps_of(stats: TraceStats) -> list[list[TraceStep]]:
    if stats.is_loop:
        stats = TraceStats(inner=(stats,), trains=stats.trains)
    steps: list[list[TraceStep]] = []
    parts: list[TraceStep] = []
    if stats.infos:
        rows = dict(zip(stats.packed_of, stats.packed if stats.packed_of else (), strict=True))
        parts.append(TraceStep(stats.infos, rows, _values_of(stats)))
    for inner in stats.inner:
        for turn in inner.turns() if inner.is_loop else [inner]:
            *before, last = _steps_of(turn)
            if inner.is_loop and inner.trains:
                steps += [*before, last]
            else:
                steps += before
                parts += last
    if steps and stats.trains:  # what is outside of the loop comes with its last turn
        steps[-1] += parts
        return steps
    return [*steps, parts]


def _values_of(stats: TraceStats) -> dict[int, Any]:
    shapes = [info.shape for info in stats.infos]
    whole = dict(zip(stats.whole_of, stats.whole, strict=True))
    return whole | split_vectors(stats.flat, stats.flat_of, shapes)


Vectors = tuple[tuple[jax.Array, ...], tuple[tuple[int, ...], ...]]


def as_vectors(values: Mapping[int, Any]) -> Vectors:
    """Return the elements of arrays, one vector for all of a dtype, and of which array each is."""
    indexes: dict[Any, list[int]] = {}
    for index, value in values.items():
        indexes.setdefault(value.dtype, []).append(index)
    chosen = (tuple(values[index] for index in of_dtype) for of_dtype in indexes.values())
    return tuple(map(_flatten_jit, chosen)), tuple(map(tuple, indexes.values()))


def is_member(value: Any) -> bool:
    """Return whether a value, in a function that is mapped, is another for each member."""
    return hasattr(value, "batch_dim")


def on_host(tree: Any) -> Any:
    """Return the same with arrays of NumPy; waits until they are computed."""
    # A script may have forbidden implicit transfers for itself.
    with jax.transfer_guard_device_to_host("allow"):
        return jax.tree.map(_on_host, tree)


class ScalarPlaces:
    """Where the single numbers are that one graph observes, by their collections.

    Args:
        stats: What it observed, once.
        keeps: Returns of which collections they are of interest.
    """

    def __init__(self, stats: TraceStats, keeps: Callable[[str], bool]) -> None:
        #: What is the same object whenever that graph ran.
        self.infos = stats.infos
        #: Of each number the vector it is in, and where; ``None`` for what is none.
        self.places: dict[str, list[tuple[TensorInfo, tuple[int, int] | None]]] = {}
        found: dict[int, tuple[int, int]] = {}
        for vector, indexes in enumerate(stats.flat_of):
            start = 0
            for index in indexes:
                size = math.prod(stats.infos[index].shape)
                found |= {index: (vector, start)} if size == 1 else {}
                start += size
        is_all = not (stats.inner or stats.is_loop)
        for index, info in enumerate(stats.infos):
            if keeps(info.collection):
                place = found.get(index) if is_all else None
                self.places.setdefault(info.collection, []).append((info, place))

    def read(
        self, stats: TraceStats, wants: Callable[[str], bool]
    ) -> list[tuple[TensorInfo, float]] | None:
        """Return the numbers of some collections; ``None`` where one holds anything else."""
        wanted = [one for kind, places in self.places.items() if wants(kind) for one in places]
        vectors: dict[int, npt.NDArray[Any]] = {}
        found = []
        for info, place in wanted:
            if place is None:
                return None
            vector, index = place
            if vector not in vectors:
                vectors[vector] = _vector_on_host(stats.flat[vector])
            found.append((info, float(vectors[vector][index])))
        return found


def _vector_on_host(vector: Any) -> npt.NDArray[Any]:
    if is_on_host():
        return np.asarray(vector)
    return on_host(vector)  # type: ignore[no-any-return]


def _on_host(value: Any) -> Any:
    if getattr(value, "is_fully_addressable", True):
        return np.asarray(value)
    return np.asarray(value.addressable_data(0))  # of several processes: it is the same in each


def _flatten(values: Sequence[Any]) -> jax.Array:
    """Return the elements of arrays of one dtype, one array after the other."""
    return jnp.concatenate([jnp.ravel(value) for value in values])


_pack_stats_jit, _flatten_jit = jax.jit(pack_stats), jax.jit(_flatten)


class Collector:
    """What was observed in one function, on the level of tracing on which it was called.

    A value of another level must not be kept here: it is of no meaning outside of the
    transformation that made it.

    Args:
        plan: What the graph holds of each tensor.
        in_loop: Whether the function is the body of a loop; full values are then not kept, as
            there would be one for each turn.
        function: The name of the function that is differentiated, of which this is a part; empty
            for none.
        is_mapped: Whether the function is one that ``jax.vmap`` maps.
    """

    def __init__(
        self,
        plan: GraphPlan,
        *,
        in_loop: bool = False,
        function: str = "",
        is_mapped: bool = False,
    ) -> None:
        self.plan, self.in_loop, self.function = plan, in_loop, function
        self.is_mapped = is_mapped
        #: Where it is mapped, what was observed that is no other for other members.
        self.shared: list[tuple[TensorInfo, Any]] = []
        #: The losses that were computed in it.
        self.losses: list[LossCall] = []
        #: Of layers that know training from evaluation, whether they ran as in evaluation.
        self.modes: list[bool] = []
        #: How many models were called in it,
        self.models = 0
        #: and the names of the weights of the first.
        self.weights: Sequence[str] = ()
        #: What losses compared predictions with, in it and in what it called.
        self.labels: list[Any] = []
        self.trains = self.runs = False
        self._level = get_opaque_trace_state()
        self._infos: list[TensorInfo] = []
        self._values: list[Any] = []
        self._stats: list[TraceStats] = []
        #: What was observed under a name, to be recognized.
        self.observed: dict[str, Any] = {}

    @property
    def only_losses(self) -> bool:
        """Whether nothing else is observed, in no turn of a loop either."""
        return self.plan.only_losses and not self.in_loop

    @property
    def is_here(self) -> bool:
        """Whether what is computed now is of the level of this."""
        return bool(self._level == get_opaque_trace_state())

    def observe(self, info: TensorInfo, value: Any) -> None:
        self.observed[info.name] = value
        if self.is_mapped and not is_member(value):
            self.shared.append((info, value))
        elif self.in_loop or self.plan.of(info):  # of later turns it may be wanted
            self._infos.append(info)
            self._values.append(jax.lax.stop_gradient(value))

    @property
    def kinds(self) -> set[str]:
        """The collections of what was observed in it and in what it called."""
        own = {info.collection for info in self._infos}
        return own.union(*(stats.kinds for stats in self._stats))

    def add(self, stats: TraceStats) -> None:
        """Take over what was observed in a function that was called here."""
        self.trains |= stats.trains
        self.runs |= stats.runs
        self._stats.append(stats)

    def close(self) -> TraceStats:
        """Return all of it, as outputs of the function."""
        flat = [stats for stats in self._stats if not stats.is_loop]
        loops = [
            one for stats in self._stats for one in ([stats] if stats.is_loop else stats.inner)
        ]
        merged = reduce(_joined, flat, self._own())
        return replace(merged, inner=tuple(loops), trains=self.trains, runs=self.runs)

    def _own(self) -> TraceStats:
        held = [PACKED if self.in_loop else self.plan.of(info) for info in self._infos]
        packed_of = tuple(index for index, one in enumerate(held) if one & PACKED)
        whole_of = tuple(index for index, one in enumerate(held) if one == FULL)
        flat, flat_of = as_vectors(
            {index: self._values[index] for index, one in enumerate(held) if one == VALUE}
        )
        return TraceStats(
            packed=_pack_stats_jit(self._chosen(packed_of)) if packed_of else None,
            flat=flat,
            whole=self._chosen(whole_of),
            infos=tuple(self._infos),
            packed_of=packed_of,
            flat_of=flat_of,
            whole_of=whole_of,
        )

    def _chosen(self, indexes: Iterable[int]) -> tuple[Any, ...]:
        return tuple(self._values[index] for index in indexes)


def _joined(one: TraceStats, other: TraceStats) -> TraceStats:
    """Return what was observed in a function and in one that it called, loops left out."""
    before = len(one.infos)
    rows = [stats.packed for stats in (one, other) if stats.packed_of]
    return TraceStats(
        packed=jnp.concatenate(rows) if rows else None,
        flat=one.flat + other.flat,
        whole=one.whole + other.whole,
        infos=one.infos + other.infos,
        packed_of=one.packed_of + tuple(before + index for index in other.packed_of),
        flat_of=one.flat_of
        + tuple(tuple(before + index for index in indexes) for indexes in other.flat_of),
        whole_of=one.whole_of + tuple(before + index for index in other.whole_of),
    )
