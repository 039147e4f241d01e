"""What one worker captured of a step: the value that crosses from capture to formats and rules."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..numerics.statistics import COUNT, NAN, NEGINF, SUM, statistics_of_numbers
from .collection import loss_function, subject
from .steps import Mode


def is_integer(dtype: str) -> bool:
    """Return whether a dtype, by its name, is one of whole numbers or of truth values.

    Example:
        >>> is_integer("int64"), is_integer("bool"), is_integer("bfloat16")
        (True, True, False)
    """
    return dtype.startswith(("int", "uint", "bool"))


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor besides its numbers.

    Args:
        name: Unique within a step and worker.
        collection: Its built-in collection, one of ``collection.BUILT_IN``.
        dtype: The name numpy or ml_dtypes gives it, such as ``float32`` or ``bfloat16``.
        shape: Its shape, ``()`` for a scalar.
        trainable: Whether gradients are wanted for it; ``None`` for what is no parameter, but true
            for an input that gradients are wanted for.
        optimizer_groups: How many parameter groups of optimizers hold it; ``None`` for what is
            no parameter or when no optimizer was known yet.
        offset: Where the shard that this worker holds begins in the whole tensor, whose shape is
            ``shape``; ``None`` for a worker that holds all of it.
        subject: The parameter or module that it is about; by default what its name says, see
            ``collection.subject``.
        function: The function that computed it, or the loss function that was given it; by
            default what its name says, see ``collection.loss_function``; empty for none.
    """

    name: str
    collection: str
    dtype: str
    shape: tuple[int, ...]
    trainable: bool | None = None
    optimizer_groups: int | None = None
    offset: tuple[int, ...] | None = None
    subject: str = ""
    function: str = ""

    def __post_init__(self) -> None:
        if self.subject and self.function:
            return
        subject, function = _by_name(self.name)
        object.__setattr__(self, "subject", self.subject or subject)
        object.__setattr__(self, "function", self.function or function)

    def __hash__(self) -> int:
        return hash(self.name)  # a name is one tensor; of all fields it would take 20 times longer

    @property
    def unnamed(self) -> tuple[str, str]:
        """``subject`` and ``function`` where they differ from what the name says; else empty."""
        subject, function = _by_name(self.name)
        return (
            "" if self.subject == subject else self.subject,
            "" if self.function == function else self.function,
        )


@lru_cache(maxsize=1 << 16)
def _by_name(name: str) -> tuple[str, str]:
    return subject(name), loss_function(name)


class Layout:
    """The tensors of a step, in the order in which they were observed.

    Many steps share one layout, so what is derived from it is derived once.

    Args:
        tensors: Names must be unique.
    """

    def __init__(self, tensors: tuple[TensorInfo, ...]) -> None:
        self.tensors = tensors
        self._matching: dict[str, npt.NDArray[np.bool_]] = {}
        self._rows_of_any: dict[tuple[str, ...], npt.NDArray[np.intp]] = {}

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {tensor.name: row for row, tensor in enumerate(self.tensors)}

    @cached_property
    def has_parts(self) -> bool:
        """Whether any of them is a shard of a tensor."""
        return any(tensor.offset is not None for tensor in self.tensors)

    @cached_property
    def rows_of(self) -> dict[str, npt.NDArray[np.intp]]:
        """The rows of each collection, ascending."""
        rows: dict[str, list[int]] = {}
        for row, tensor in enumerate(self.tensors):
            rows.setdefault(tensor.collection, []).append(row)
        return {collection: np.array(which, np.intp) for collection, which in rows.items()}

    def rows_of_any(self, collections: tuple[str, ...]) -> npt.NDArray[np.intp]:
        """Return the rows of all of some collections, ascending."""
        rows = self._rows_of_any.get(collections)
        if rows is None:
            found = [self.rows_of[one] for one in set(collections) if one in self.rows_of]
            # Not np.unique, which imports numpy.ma, in the first step of a training.
            rows = np.sort(np.concatenate(found)) if found else np.empty(0, np.intp)
            self._rows_of_any[collections] = rows
        return rows

    def matching(self, pattern: str) -> npt.NDArray[np.bool_]:
        """Return in which names the regular expression is found, shape ``[tensors]``, bool."""
        mask = self._matching.get(pattern)
        if mask is None:
            search = re.compile(pattern).search
            mask = np.array([search(tensor.name) is not None for tensor in self.tensors], bool)
            self._matching[pattern] = mask
        return mask

    def __len__(self) -> int:
        return len(self.tensors)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """Everything captured of one step by one worker.

    Args:
        worker: Who captured it, such as ``worker_0``.
        mode: What the model was used for.
        step: The global step, over all modes.
        mode_step: The step within ``mode``.
        time_ns: When the step ended, nanoseconds since the Unix epoch.
        layout: The tensors, in the order of execution.
        statistics: Shape ``[tensors, NUM_FIELDS]``, float64, a row each.
        raw: Full values of some of the tensors, by name; of a tensor with an offset, the shard.
        digests: 64-bit digests of the values of some of the tensors, by name; see ``digest``.
        exponents: Histograms of the exponents of some of the tensors, by name; see ``exponents``.
        times_ns: When some of the tensors were observed, by name, where that is kept beside
            ``time_ns``; only smdebug's format holds it.
    """

    worker: str
    mode: Mode
    step: int
    mode_step: int
    time_ns: int
    layout: Layout
    statistics: npt.NDArray[np.float64]
    raw: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    digests: Mapping[str, int] = field(default_factory=dict)
    exponents: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    times_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def loss(self) -> float | None:
        """The first loss: nan if any is not finite, ``None`` if it is not known."""
        rows = self.layout.rows_of.get("losses")
        if rows is None:
            return None
        losses = self.statistics[rows].tolist()
        if any(any(one[NAN : NEGINF + 1]) for one in losses):
            return math.nan
        count, total = float(losses[0][COUNT]), float(losses[0][SUM])
        return total / count if count else None


class ScalarRow(NamedTuple):
    """One step of which a few numbers are all that was captured.

    Args:
        mode: What the model was used for.
        layout: The tensors, each of one element and float64 or narrower.
        step: The global step.
        mode_step: The step within its mode.
        time_ns: When it ended, nanoseconds since the Unix epoch.
        values: The value of each tensor.
    """

    mode: Mode
    layout: Layout
    step: int
    mode_step: int
    time_ns: int
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ScalarSteps:
    """Steps in a row of one layout, of which a few numbers are all that was captured.

    Args:
        worker: Who captured them.
        mode: What the model was used for.
        layout: The tensors, each of one element.
        numbers: Global step, step within the mode and time of each, shape ``[steps, 3]``, int64.
        values: Shape ``[steps, tensors]``, float64.
    """

    worker: str
    mode: Mode
    layout: Layout
    numbers: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]

    @classmethod
    def of(cls, worker: str, rows: Iterable[ScalarRow]) -> list[ScalarSteps]:
        """Return rows, in the order of their steps, by modes and layouts that follow each other."""
        by_layout = groupby(rows, key=lambda row: (row.mode, id(row.layout)))
        return [
            cls(
                worker,
                alike[0].mode,
                alike[0].layout,
                np.array([row[2:5] for row in alike], np.int64),
                np.array([row.values for row in alike], np.float64),
            )
            for alike in (list(group) for _, group in by_layout)
        ]

    def at(self, rows: Sequence[int]) -> ScalarSteps:
        """Return some of them, by their places; -1 is the last."""
        return replace(self, numbers=self.numbers[rows], values=self.values[rows])

    @property
    def statistics(self) -> npt.NDArray[np.float64]:
        """Of each tensor at each step, shape ``[steps, tensors, NUM_FIELDS]``; computed anew."""
        return statistics_of_numbers(self.values)

    def records(self) -> Iterator[StepRecord]:
        """Yield each step as a record of its own."""
        numbers = self.numbers.tolist()
        for (step, mode_step, time_ns), rows in zip(numbers, self.statistics, strict=True):
            yield StepRecord(self.worker, self.mode, step, mode_step, time_ns, self.layout, rows)

    def last(self) -> StepRecord:
        """Return the last step as a record of its own."""
        return next(self.at([-1]).records())

    def __len__(self) -> int:
        return len(self.numbers)


def step_numbers(steps: StepRecord | ScalarSteps) -> npt.NDArray[np.int64]:
    """Return global step, step within the mode and time of each step, shape ``[steps, 3]``."""
    if isinstance(steps, ScalarSteps):
        return steps.numbers
    return np.array([[steps.step, steps.mode_step, steps.time_ns]], np.int64)
