"""Whether a step that was run again is the step that was recorded, tensor by tensor.

What is compared is the strongest that the recording has of a tensor: its full value, else its
digest, else its statistics. Values and digests are those of the last time that a tensor was seen
in the step. Statistics are of all times: where there were several they are compared as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from ..model.record import StepRecord
from ..numerics.digest import digest
from ..numerics.statistics import ABS_MIN, COUNT, FIELDS, MAX, MIN, SUM, SUM_ABS, SUM_SQ, ZEROS

Array = npt.NDArray[np.generic]
Row = npt.NDArray[np.float64]

# A difference is small if it is below RELATIVE of the element itself plus OF_LARGEST of the
# largest one; but never less than a few of the dtype's own steps, as far as these are small
# themselves. Only floating numbers vary: of others every difference counts.
RELATIVE = 1e-5
OF_LARGEST = 1e-6
ROUNDINGS = 4
MOST = 1e-2
#: What the step does not compute: how long the training takes, counts from its beginning, and
#: which samples it is given. Those of several forwards are joined in the order of the calls.
NOT_COMPUTED = frozenset({"evaluations", "loop", "samples"})
# How far float64 sums of the same elements in another order may be apart.
REORDERED = 1e-12


class Outcome(str, Enum):
    """How near a replayed tensor, or a whole step, is to the recorded one."""

    SAME = "bit for bit"
    SAME_STATISTICS = "same statistics"
    CLOSE = "within tolerance"
    DIFFERENT = "differs"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Compared:
    """One tensor of a step that was run again.

    Args:
        name: Its name.
        outcome: How near it is.
        by: What was compared: ``value``, ``digest`` or ``statistics``; of several, what told most.
        at: Where the difference is largest: an index, or the field of the statistics.
        recorded: What was recorded there; nan where only a digest is known.
        replayed: What the replay gave there.
        relative: The largest difference, as a fraction of the recorded number; inf where one of
            the two is not finite or the recorded one is zero.
        ulp: The largest difference in steps between neighbouring numbers of the dtype; ``None``
            where only statistics are known.
    """

    name: str
    outcome: Outcome
    by: str
    at: str = ""
    recorded: float = 0.0
    replayed: float = 0.0
    relative: float = 0.0
    ulp: float | None = None


def compare_steps(recorded: StepRecord, replayed: StepRecord) -> list[Compared]:
    """Compare every tensor that both have and that was computed, in the order of execution.

    Weights come first: they are those that the forward used.

    Args:
        recorded: What was recorded.
        replayed: The same step, run again; it has full values of everything.
    """
    rows = replayed.layout.row_of
    tensors = [
        tensor
        for tensor in recorded.layout.tensors
        if tensor.name in rows and tensor.collection not in NOT_COMPUTED
    ]
    tensors.sort(key=lambda tensor: tensor.collection not in ("weights", "buffers"))
    return [_compare(recorded, replayed, tensor.name) for tensor in tensors]


def outcome_of(compared: list[Compared]) -> Outcome:
    """Return the worst outcome; ``SAME`` of nothing."""
    return max((one.outcome for one in compared), key=list(Outcome).index, default=Outcome.SAME)


def _compare(recorded: StepRecord, replayed: StepRecord, name: str) -> Compared:
    """Compare by the strongest evidence there is, and by what covers all that was seen."""
    here, there = (step.statistics[step.layout.row_of[name]] for step in (recorded, replayed))
    info = recorded.layout.tensors[recorded.layout.row_of[name]]
    statistics = compare_statistics(name, here, there, np.dtype(info.dtype))
    again = replayed.raw.get(name)
    if again is None:
        return statistics
    if name in recorded.raw:
        last = compare_values(name, recorded.raw[name], again)
    elif name in recorded.digests:
        last = _compare_digests(recorded.digests[name], again, statistics)
    else:
        return statistics
    is_once = max(here[COUNT], there[COUNT]) <= again.size
    return last if is_once or outcome_of([last]) is outcome_of([last, statistics]) else statistics


def _compare_digests(recorded: int, again: Array, statistics: Compared) -> Compared:
    """Compare two digests; of values that are not the same the statistics tell how near."""
    name = statistics.name
    if recorded == digest(again):
        return Compared(name, Outcome.SAME, "digest", ulp=0.0)
    if statistics.outcome is Outcome.DIFFERENT or statistics.relative > REORDERED:
        return statistics
    # Other values of the very same statistics: the same ones elsewhere, for all that is known.
    return Compared(name, Outcome.DIFFERENT, "digest", "", np.nan, np.nan, np.nan)


def compare_values(name: str, recorded: Array, replayed: Array) -> Compared:
    """Compare two values, element by element.

    Args:
        name: The tensor.
        recorded: Any shape and dtype that can be stored.
        replayed: Of the same shape and dtype, else they differ.
    """
    if (recorded.shape, recorded.dtype) != (replayed.shape, replayed.dtype):
        return Compared(
            name, Outcome.DIFFERENT, "value", f"{_kind(recorded)} and {_kind(replayed)}",
            np.nan, np.nan, np.inf,
        )  # fmt: skip
    if np.ascontiguousarray(recorded).tobytes() == np.ascontiguousarray(replayed).tobytes():
        return Compared(name, Outcome.SAME, "value", ulp=0.0)
    apart = _ulps(recorded, replayed)
    here, there = (_widened(array) for array in (recorded, replayed))
    distance = field_distance(here, there)
    varies = is_floating(recorded.dtype)
    if not varies:  # integers that float64 cannot tell apart are not the same
        distance = np.where(recorded == replayed, 0.0, np.maximum(distance, 1.0))
        apart = float(np.max(distance))
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape)
    largest = np.max(np.abs(here), where=np.isfinite(here), initial=0.0)
    allowed = _allowed(recorded.dtype) * np.abs(here) + OF_LARGEST * largest
    near = np.isfinite(distance) & (distance <= allowed)
    small = varies and bool(np.all(near | (distance == 0)))
    return Compared(
        name,
        Outcome.CLOSE if small else Outcome.DIFFERENT,
        "value",
        str([int(index) for index in worst]) if worst else "",
        _number(here[worst]),
        _number(there[worst]),
        _largest_relative(distance, here),
        apart,
    )


def compare_statistics(
    name: str, recorded: Row, replayed: Row, dtype: np.dtype[np.generic]
) -> Compared:
    """Compare the statistics of two values.

    Counts must be equal, but for that of zeros; sums and extremes may differ by a fraction of the
    sum of magnitudes, and of the largest magnitude. Fields that the recording does not know (nan)
    are passed over where the replay knows them.

    Args:
        name: The tensor.
        recorded: Shape ``[NUM_FIELDS]``, float64.
        replayed: Of the same shape.
        dtype: What the values were.
    """
    known = ~(np.isnan(recorded) & ~np.isnan(replayed))
    here, there = recorded[known], replayed[known]
    distance, fields = field_distance(here, there), np.flatnonzero(known)
    if not distance.any():
        return Compared(name, Outcome.SAME_STATISTICS, "statistics")
    scale = field_scale(recorded)[known]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(distance == 0, 0.0, distance / scale)
    worst = int(np.argmax(shares))
    return Compared(
        name,
        Outcome.CLOSE if np.all(shares <= _allowed(dtype)) else Outcome.DIFFERENT,
        "statistics",
        FIELDS[fields[worst]],
        float(here[worst]),
        float(there[worst]),
        float(shares[worst]),
    )


def field_scale(rows: Row) -> Row:
    """Return what a difference of each field is a fraction of; 0 for counts, which are exact.

    Args:
        rows: Shape ``[..., NUM_FIELDS]``, float64.
    """
    scale = np.zeros_like(rows)
    scale[..., SUM] = scale[..., SUM_ABS] = rows[..., SUM_ABS]
    scale[..., SUM_SQ] = 2 * rows[..., SUM_SQ]
    scale[..., ZEROS] = rows[..., COUNT]  # noise makes a few of them, and ends a few
    extremes = np.abs(rows[..., [MIN, MAX]])
    largest = np.max(extremes, axis=-1, where=~np.isnan(extremes), initial=0.0)
    scale[..., [MIN, MAX, ABS_MIN]] = largest[..., np.newaxis]
    return scale


def field_distance(here: Row, there: Row) -> Row:
    """Return how far apart numbers are: 0 for equal ones and two nans, else inf for non-finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(here - there)
    same = (here == there) | (np.isnan(here) & np.isnan(there))
    distance = np.where(np.isnan(distance), np.inf, distance)
    return np.where(same, 0.0, distance)


def _largest_relative(distance: Row, here: Row) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(distance == 0, 0.0, distance / np.abs(here))
    return float(np.max(np.where(np.isnan(relative), np.inf, relative)))


def _ulps(recorded: Array, replayed: Array) -> float:
    """Return the largest distance in steps between neighbouring numbers of the dtype.

    The bits of a float, read as a sign and a magnitude, count its neighbours (IEEE 754). Two
    nans are no distance apart, nan and a number an infinite one.
    """
    if recorded.dtype.kind not in "fV":
        return float(np.max(field_distance(_widened(recorded), _widened(replayed))))
    here, there = (_ordered(array) for array in (recorded, replayed))
    # Of one sign exactly, as integers; the distance of two signs may be none that int64 holds.
    far = np.abs(here.astype(np.float64)) + np.abs(there.astype(np.float64))
    apart = np.where((here < 0) == (there < 0), np.abs(here - there), far)
    nans = [np.isnan(_widened(array)) for array in (recorded, replayed)]
    apart = np.where(nans[0] != nans[1], np.inf, np.where(nans[0] & nans[1], 0.0, apart))
    return float(np.max(apart))


def _ordered(array: Array) -> npt.NDArray[np.int64]:
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"<i{width}").astype(np.int64)
    magnitude = bits & np.int64((1 << (8 * width - 1)) - 1)
    return np.where(bits < 0, -magnitude, magnitude)


def _widened(array: Array) -> Row:
    if array.dtype.kind == "c":
        parts = np.ascontiguousarray(array)[..., np.newaxis].view(f"f{array.dtype.itemsize // 2}")
        return parts.astype(np.float64)
    return array.astype(np.float64)


def _allowed(dtype: np.dtype[np.generic]) -> float:
    if not is_floating(dtype):
        return 0.0
    return min(max(RELATIVE, ROUNDINGS * rounding(dtype)), MOST)


def is_floating(dtype: np.dtype[np.generic]) -> bool:
    """Return whether it rounds; the integers of ml_dtypes have the kind of its floats."""
    return dtype.kind in "fcV" and not dtype.name.startswith(("int", "uint"))


def rounding(dtype: np.dtype[np.generic]) -> float:
    """Return the distance from 1 to the next number of a floating dtype."""
    if dtype.kind == "c":
        dtype = np.empty(0, dtype).real.dtype
    one = np.ones(1, dtype)
    after = (one.view(f"u{dtype.itemsize}") + 1).astype(f"u{dtype.itemsize}").view(dtype)
    return float(_widened(after)[0] - 1)


def _number(value: object) -> float:
    return float(np.asarray(value, np.float64))


def _kind(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}"
