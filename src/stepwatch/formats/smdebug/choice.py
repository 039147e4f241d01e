"""Which records a step gets: what of each of its tensors is stored, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by name once it is imported
import numpy as np
import numpy.typing as npt

from ...hook_config import NEED_VALUES, Reduction, Stored
from ...record import Layout, TensorInfo
from .encode import DATA_TYPES, Content, stored_dtype
from .reduce import DERIVED
from .reductions import PREFIX, reduction_name

#: What is stored of every tensor where nobody selected: all that there is.
ALL = Stored(raw=True, reductions=DERIVED, shape=True)

# A number that was seen once is its own mean.
_VALUE = Reduction("mean")


@dataclass(frozen=True, slots=True)
class Number:
    """A record of one number, which follows from the statistics of a tensor.

    Args:
        tag: Its name.
        dtype: As what it is stored, shape ``()``.
        row: Of the tensor.
        column: Of the reduction.
    """

    tag: str
    dtype: np.dtype[np.generic]
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Full:
    """A record of a full value.

    Args:
        tag: Its name.
        data_type: As of ``Content``.
        shape: Its shape.
        size_bytes: Of its content.
    """

    tag: str
    data_type: int
    shape: tuple[int, ...]
    size_bytes: int


@dataclass(slots=True)
class Choice:
    """What a step stores.

    Args:
        reductions: The reductions that some tensor needs, a column each.
        entries: The records, in order.
        shapes: The tensors of which the shape is stored by itself, with it.
        from_values: Row, column and name of the reductions that need full values.
    """

    reductions: list[Reduction] = field(default_factory=list)
    entries: list[Number | Full] = field(default_factory=list)
    shapes: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    from_values: list[tuple[int, int, str]] = field(default_factory=list)

    def column(self, reduction: Reduction) -> int:
        """Return the column of a reduction, a new one if it has none."""
        if reduction not in self.reductions:
            self.reductions.append(reduction)
        return self.reductions.index(reduction)


@dataclass(frozen=True, slots=True)
class Facts:
    """What of a step's numbers, not of its names, decides what is stored of them.

    Args:
        once: Which tensors have one element and were seen once, shape ``[tensors]``.
        unknown: Which of ``DERIVED`` do not follow because the number of elements is not known,
            shape ``[tensors, reductions]``; ``None`` where all do.
        raw: Which tensors have full values at all.
    """

    once: npt.NDArray[np.bool_]
    unknown: npt.NDArray[np.bool_] | None
    raw: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[bytes, bytes, frozenset[str]]:
        """Return what is equal for equal facts."""
        unknown = b"" if self.unknown is None else self.unknown.tobytes()
        return self.once.tobytes(), unknown, self.raw


def choose(
    layout: Layout,
    stored: Sequence[Stored | None],
    contents: Mapping[str, Content],
    facts: Facts,
) -> Choice:
    """Return what a step stores.

    The value of a scalar follows from its statistics. Where nobody selected, it stands for its
    reductions, and reductions are float64; else they have the dtype of their tensor.

    Args:
        layout: The tensors.
        stored: What is asked of each; ``ALL`` itself where nobody selected.
        contents: The full values that are stored, by name.
        facts: About the numbers.
    """
    choice = Choice()
    for row, (info, what) in enumerate(zip(layout.tensors, stored, strict=True)):
        if what is None:
            continue
        value = _value_of(info, what, row, contents, facts, choice)
        if not (what is ALL and not info.shape and value is not None):
            _add_reductions(info, what, row, facts, choice)
        if value is not None:
            choice.entries.append(value)
        elif what.shape or (what.raw and info.name in facts.raw):
            # What is raw and has no element: its shape says it all.
            choice.shapes.append((info.name, info.shape))
    return choice


def _value_of(
    info: TensorInfo,
    what: Stored,
    row: int,
    contents: Mapping[str, Content],
    facts: Facts,
    choice: Choice,
) -> Number | Full | None:
    """Return the record of the value; ``None`` if it is not asked for, or not there."""
    if not what.raw:
        return None
    full = contents.get(info.name)
    if full is not None:
        return Full(info.name, full.data_type, full.shape, len(full.data))
    if info.shape or info.name in facts.raw or not _is_number(info.dtype):
        return None
    dtype = stored_dtype(np.dtype(info.dtype)) if facts.once[row] else np.dtype(np.float64)
    return Number(info.name, dtype, row, choice.column(_VALUE))


def _add_reductions(info: TensorInfo, what: Stored, row: int, facts: Facts, choice: Choice) -> None:
    if not _is_number(info.dtype) or 0 in info.shape:
        return
    dtype = np.dtype(np.float64) if what is ALL else _reduced_dtype(info.dtype)
    for number, reduction in enumerate(what.reductions):
        if what is ALL and facts.unknown is not None and facts.unknown[row, number]:
            continue
        if reduction.name in NEED_VALUES:
            if info.name not in facts.raw:
                continue
            choice.from_values.append((row, choice.column(reduction), info.name))
        # By its whole name where everything is stored: it shall be found again.
        whole = f"{PREFIX}{reduction.stored}/{info.name}"
        tag = whole if what is ALL else reduction_name(reduction, info.name)
        choice.entries.append(Number(tag, dtype, row, choice.column(reduction)))


def _is_number(dtype: str) -> bool:
    """Return whether there are statistics of this dtype."""
    return not dtype.startswith(("<U", ">U", "str", "complex", "object"))


def _reduced_dtype(dtype: str) -> np.dtype[np.generic]:
    """Return the dtype of reductions: that of the tensor if its elements are not whole."""
    stored = stored_dtype(np.dtype(dtype))
    return stored if stored.kind == "f" and stored in DATA_TYPES else np.dtype(np.float64)
