"""The statistics of a tensor: one pass, mergeable.

One fixed set per tensor, computed over the finite elements; non-finite ones are counted apart,
because a single NaN must not hide the rest. Everything else (mean, variance, norms) follows from
the set, and two sets merge by plus, min and max: over
micro-batches, shards and workers.

Sums are accumulated in float64. A set is one row of float64; counts stay exact up to 2**53.
What float64 cannot hold overflows to inf as always: ``sum_sq`` of elements above 1e154, and
``sum``, which is nan if parts of it overflow both ways. Squares below 5e-324 are lost. Only
float64 tensors can get there.

The compiled kernel reads float32, float64, bfloat16 and float16 where they lie. The rest
(other dtypes, holes between the elements, no kernel) goes through float64 in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from .elements import BLOCK as BLOCK
from .elements import KERNEL_KINDS, blocks, is_real
from .elements import kernel as _kernel

Row = npt.NDArray[np.float64]
Array = npt.NDArray[np.generic]

#: The fields of a row, in order.
FIELDS = (
    "count",  # all elements, the non-finite ones included
    "nan",
    "posinf",
    "neginf",
    "zeros",  # of either sign
    "min",  # nan when no element is finite, as are max and abs_min
    "max",
    "sum",
    "sum_abs",
    "sum_sq",
    "abs_min",  # 0.0 where there is a zero
)
NUM_FIELDS = len(FIELDS)
COUNT, NAN, POSINF, NEGINF, ZEROS, MIN, MAX, SUM, SUM_ABS, SUM_SQ, ABS_MIN = range(NUM_FIELDS)


def has_kernel() -> bool:
    """Return whether the compiled kernel is there; without it statistics cost ten times more."""
    return _kernel is not None


def summarize(array: Array) -> Row:
    """Return the statistics of all elements of an array.

    Args:
        array: Any shape and strides; bool, integer or real floating dtype, the ones of
            ml_dtypes (bfloat16, float8) included. It is read as it is and never widened or
            copied as a whole.

    Returns:
        Shape ``[NUM_FIELDS]``, float64. An empty array gives zero counts and sums, and nan for
        min, max and abs_min.

    Raises:
        TypeError: A dtype without an order, such as complex or object.
    """
    row = np.empty(NUM_FIELDS)
    summarize_into(array, row)
    return row


def summarize_into(array: Array, out_row: Row) -> None:
    """Write the statistics of all elements of an array into a row of a matrix.

    For hot paths: beside the kernel it costs less than a microsecond. Above 65536 elements
    the kernel runs without the GIL.

    Args:
        array: As for ``summarize``.
        out_row: Shape ``[NUM_FIELDS]``, float64, contiguous and writable.

    Raises:
        TypeError: A dtype without an order, such as complex or object.
        ValueError: ``out_row`` is no such row.
    """
    if not _read_in_place(array, out_row):
        out_row[:] = _summarize_in_blocks(array)


#: Writes the statistics of tensors into the rows of a matrix from one on, and returns how many it
#: could read: ``read(tensors, matrix.__array_struct__, first)``.
ReadTensors = Callable[[tuple[object, ...], object, int], int]


def tensor_reader(*classes: type) -> ReadTensors:
    """Return what reads tensors of a framework where they lie, many in one call.

    It stops at the first that it cannot read so: of a derived class, on an accelerator, with gaps
    between its elements, or of a dtype that the kernel does not know. Of those that it reads the
    statistics are what ``summarize`` gives, bit for bit.

    Args:
        classes: The classes of the tensors. Where they offer no C interface of DLPack, no tensor
            is read.
    """
    api = getattr(classes[0], "__dlpack_c_exchange_api__", None)
    if _kernel is None or api is None:
        return lambda tensors, matrix, first: 0  # noqa: ARG005
    return partial(_kernel.summarize_tensors, api, classes)


def summarize_numbers(numbers: tuple[float, ...], out_rows: Row, first: int) -> None:
    """Write the statistics of tensors of one element, float64, into the rows of a matrix.

    Args:
        numbers: The element of each.
        out_rows: Shape ``[rows, NUM_FIELDS]``, float64, contiguous and writable.
        first: The row of the first of them.
    """
    if _kernel is not None:
        _kernel.summarize_numbers(numbers, out_rows.__array_struct__, first)
        return
    for row, number in enumerate(numbers, first):
        summarize_into(np.asarray(number, np.float64), out_rows[row])


def statistics_of_numbers(values: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """Return the statistics of tensors of one element.

    Args:
        values: The element of each, shape ``[steps, tensors]``, float64.

    Returns:
        Shape ``[steps, tensors, NUM_FIELDS]``.
    """
    rows = np.empty((values.size, NUM_FIELDS))
    summarize_numbers(tuple(values.ravel().tolist()), rows, 0)
    return rows.reshape(*values.shape, NUM_FIELDS)


def use_threads(functions: Sequence[int]) -> None:
    """Let the calling thread be helped by a framework's threads when it reads large arrays.

    The statistics are the same, bit for bit, however many threads there are.

    Args:
        functions: The addresses of ``GOMP_parallel``, ``omp_get_thread_num``,
            ``omp_get_num_threads`` and ``omp_in_parallel`` in the library that the framework
            uses; none to be helped no longer.
    """
    if _kernel is not None:
        _kernel.use_threads(*functions)


def _read_in_place(array: Array, out_row: Row) -> bool:
    """Let the kernel read the array where it lies, or return False if it cannot."""
    kind = KERNEL_KINDS.get(array.dtype)
    if kind is None or _kernel is None:
        return False
    return _kernel.summarize(array.__array_struct__, kind, out_row.__array_struct__)


def _summarize_in_blocks(array: Array) -> Row:
    dtype = array.dtype
    if not is_real(dtype):
        raise TypeError(f"no statistics of dtype {dtype}; need bool, integers or real floats")
    row = np.empty(NUM_FIELDS)
    if _read_in_place(_in_memory_order(array), row):
        return row
    with np.errstate(over="ignore", invalid="ignore"):
        if array.size <= BLOCK:
            return _summarize_block(array.astype(np.float64, copy=False).ravel())
        return merge(np.array([_summarize_block(block) for block in blocks(array, np.float64)]))


def _in_memory_order(array: Array) -> Array:
    """Return a view of the same elements in the order in which they lie in memory."""
    for axis, stride in enumerate(array.strides):
        if stride < 0:
            array = np.flip(array, axis)
    strides = array.strides
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -strides[axis]))


def _summarize_block(block: Row) -> Row:
    row = np.zeros(NUM_FIELDS)
    if _read_in_place(block, row):
        return row
    row[COUNT] = block.size
    row[ZEROS] = block.size - np.count_nonzero(block)
    finite = np.isfinite(block)
    if not finite.all():
        row[NAN] = np.count_nonzero(np.isnan(block))
        row[POSINF] = np.count_nonzero(block == np.inf)
        row[NEGINF] = np.count_nonzero(block == -np.inf)
        block = block[finite]
    if not block.size:
        row[[MIN, MAX, ABS_MIN]] = np.nan
        return row
    magnitude = np.abs(block)
    row[MIN] = block.min() + 0.0  # no minus zero
    row[MAX] = block.max() + 0.0
    row[ABS_MIN] = magnitude.min()
    row[SUM] = block.sum()
    row[SUM_ABS] = magnitude.sum()
    row[SUM_SQ] = np.square(magnitude, out=magnitude).sum()
    return row


def merge(rows: Row) -> Row:
    """Merge the statistics of the parts of a tensor into those of the whole.

    Args:
        rows: Shape ``[parts, ..., NUM_FIELDS]``; merged along the first axis.

    Returns:
        Shape ``[..., NUM_FIELDS]``: counts and sums added, extremes combined, parts without a
        finite element leaving them alone. No parts give the statistics of an empty tensor.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        merged: Row = np.add.reduce(rows, axis=0, dtype=np.float64)
    for field, extreme in ((MIN, np.fmin), (MAX, np.fmax), (ABS_MIN, np.fmin)):
        merged[..., field] = extreme.reduce(rows[..., field], axis=0, initial=np.nan)
    return merged


def _finite(rows: Row) -> Row:
    return rows[..., COUNT] - rows[..., NAN] - rows[..., POSINF] - rows[..., NEGINF]


def _mean(rows: Row) -> Row:
    return rows[..., SUM] / _finite(rows)


def _variance(rows: Row) -> Row:
    """Return the variance over the finite elements, not corrected for the lost degree of freedom.

    A difference of sums: where the mean is k times the standard deviation it loses
    log10(k**2) of the 16 digits of float64, so it is noise from k = 1e8 on.
    """
    return np.maximum(rows[..., SUM_SQ] / _finite(rows) - _mean(rows) ** 2, 0.0)


#: Statistics of which small and large values matter alike: half is as far from one as twice.
BY_FACTORS = frozenset(
    ("l1", "l2", "rms", "abs_mean", "abs_max", "abs_min", "std", "variance", "sum_abs")
)

#: Every derived quantity, by name: a function of rows ``[..., NUM_FIELDS]`` giving ``[...]``.
#: A quantity that needs a finite element is nan where there is none.
DERIVED: dict[str, Callable[[Row], Row]] = {
    "finite": _finite,
    "non_finite": lambda rows: rows[..., NAN] + rows[..., POSINF] + rows[..., NEGINF],
    "mean": _mean,
    "variance": _variance,
    "std": lambda rows: np.sqrt(_variance(rows)),
    "l1": lambda rows: rows[..., SUM_ABS],
    "l2": lambda rows: np.sqrt(rows[..., SUM_SQ]),
    "rms": lambda rows: np.sqrt(rows[..., SUM_SQ] / _finite(rows)),
    "abs_mean": lambda rows: rows[..., SUM_ABS] / _finite(rows),
    "abs_max": lambda rows: np.maximum(np.abs(rows[..., MIN]), np.abs(rows[..., MAX])),
    "zero_fraction": lambda rows: rows[..., ZEROS] / rows[..., COUNT],
}


def quantity(rows: Row, name: str) -> Row:
    """Return one field or derived quantity of many rows.

    Args:
        rows: Shape ``[..., NUM_FIELDS]``.
        name: One of ``FIELDS`` or of ``DERIVED``.

    Returns:
        Shape ``[...]``, float64; nan where the quantity is not defined.

    Raises:
        KeyError: An unknown name.
    """
    if name in DERIVED:
        with np.errstate(divide="ignore", invalid="ignore"):
            return DERIVED[name](rows)
    if name not in FIELDS:
        raise KeyError(f"no statistic {name!r}; there are {', '.join((*FIELDS, *DERIVED))}")
    return rows[..., FIELDS.index(name)]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one tensor at one step, under names.

    Every field of ``FIELDS`` and every quantity of ``DERIVED`` is an attribute; counts are
    ints, the rest floats, nan where not defined or, in a run that stored less, not known.

    Args:
        row: Shape ``[NUM_FIELDS]``, float64.

    Example:
        >>> statistics = Statistics(summarize(np.array([3.0, -4.0, np.nan])))
        >>> statistics.count, statistics.nan, statistics.l2, statistics.mean
        (3, 1, 5.0, -0.5)
    """

    row: Row

    def __getattr__(self, name: str) -> float:
        try:
            value = float(quantity(self.row, name))
        except KeyError as error:
            raise AttributeError(error.args[0]) from None
        return int(value) if name in _COUNTS and value == value else value


_COUNTS = frozenset(FIELDS[: ZEROS + 1]) | {"finite", "non_finite"}
