"""The records of an event file: which a step gets, and their bytes around the content.

A record is an ``Event`` with one ``Summary.Value``: tag, tensor, and which step of which mode it
is of. Everything in it but the wall time, the step, the step within the mode and the content is
the same at every step, and so are all lengths as long as those keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepwatch.formats.smdebug.collections import NEED_VALUES, Reduction, Stored
from stepwatch.formats.smdebug.reductions import DERIVED, REDUCTION_PREFIX, reduction_name
from stepwatch.formats.smdebug.wire import (
    DTYPES,
    HEADER_BYTES,
    MODE_NUMBERS,
    SMDEBUG_FOOTER,
    UNSET_DTYPE,
    bytes_field,
    header,
    varint,
)
from stepwatch.model.record import Layout, TensorInfo
from stepwatch.model.steps import Mode

Array = npt.NDArray[np.generic]

#: The numbers of the dtypes that are stored as they are.
DATA_TYPES = {DTYPES[number]: number for number in (1, 2, 3, 4, 5, 6, 8, 9, 10, 17, 18, 19, 22, 23)}

# From the first byte of a record: the wall time follows one byte, the step the next.
WALL_TIME_AT = HEADER_BYTES + 1
STEP_AT = WALL_TIME_AT + 9

_STRING_FIELD = 8
_CONTENT_FIELD = b"\x22"


@dataclass(frozen=True, slots=True)
class Content:
    """A full value as it is stored."""

    data_type: int  # its number in DATA_TYPES, or UNSET_DTYPE for text
    shape: tuple[int, ...]
    data: npt.NDArray[np.uint8]  # shape [bytes]


def stored_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return the dtype in which numbers are stored: float32 for what smdebug cannot read.

    Those are bfloat16 and the floats of eight bits, whose values float32 holds exactly.
    """
    native = dtype.newbyteorder("=")
    if native in DATA_TYPES:
        return native
    small = native in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4))
    return np.dtype(np.int8 if small else np.float32)


def tensor_content(array: Array) -> Content:
    """Return what is stored of an array.

    Args:
        array: Numbers of any shape and strides, copied only if they do not lie in order or in
            a dtype that is stored; or texts, of which the shape becomes ``[texts]``.

    Raises:
        TypeError: Neither numbers nor texts.
    """
    if array.dtype.kind == "U":
        return _text_content(array.reshape(-1))
    if array.dtype.kind in "OSMm" or array.dtype.names:
        raise TypeError(f"arrays of {array.dtype} cannot be stored; need numbers, bool or text")
    shape = array.shape
    numbers = np.ascontiguousarray(array, dtype=stored_dtype(array.dtype))
    return Content(DATA_TYPES[numbers.dtype], shape, numbers.reshape(-1).view(np.uint8))


def _text_content(array: Array) -> Content:
    fields = [bytes_field(_STRING_FIELD, str(text).encode()) for text in array]
    return Content(UNSET_DTYPE, array.shape, np.frombuffer(b"".join(fields), np.uint8))


@dataclass(frozen=True, slots=True)
class StepShape:
    """What of a step's mode and numbers decides the lengths of its records."""

    mode: Mode
    step_bytes: int  # of the global step as a varint; 0 for step 0, which is left out
    digits: int  # of the step within the mode

    @classmethod
    def of(cls, mode: Mode, step: int, mode_step: int) -> StepShape:
        return cls(mode, len(step_varint(step)), len(str(mode_step)))


def step_varint(step: int) -> bytes:
    """Return the global step as its record has it; nothing for step 0, which is the default."""
    return varint(step) if step else b""


def record_tail(shape: StepShape) -> tuple[bytes, int]:
    """Return what follows the content of every record, and where in it the digits stand."""
    before = bytes_field(1, b"mode_step") + b"\x12" + varint(shape.digits)
    step = bytes_field(1, before + b"0" * shape.digits)
    number = str(MODE_NUMBERS[shape.mode]).encode()
    mode = bytes_field(1, bytes_field(1, b"mode") + bytes_field(2, number))
    whole = bytes_field(9, step + mode)
    return whole + SMDEBUG_FOOTER, whole.index(before) + len(before)


def record_head(
    tag: str, data_type: int, dims: tuple[int, ...], size_bytes: int, step_bytes: int, rest: int
) -> bytes:
    """Return what stands before the content of a record, with zeros for wall time and step.

    Args:
        tag: Name of the tensor.
        data_type: See ``Content``.
        dims: Its shape.
        size_bytes: Length of the content. At least 1.
        step_bytes: See ``StepShape``.
        rest: Length of the ``record_tail``.
    """
    name = tag.encode()
    tensor = (b"" if data_type == UNSET_DTYPE else bytes((0x08, data_type))) + _dims(name, dims)
    if data_type != UNSET_DTYPE:
        tensor += _CONTENT_FIELD + varint(size_bytes)
    value = b"".join((bytes_field(1, name), b"\x42", varint(len(tensor) + size_bytes), tensor))
    # The footer, of four bytes, is part of the tail and not of the message.
    value_bytes = len(value) + size_bytes + rest - len(SMDEBUG_FOOTER)
    summary = b"\x0a" + varint(value_bytes)
    event = b"".join(
        (
            b"\x09" + bytes(8),
            b"\x10" + bytes(step_bytes) if step_bytes else b"",
            b"\x2a" + varint(len(summary) + value_bytes),
            summary,
        )
    )
    return header(len(event) + value_bytes) + event + value


def _dims(tag: bytes, dims: tuple[int, ...]) -> bytes:
    """Return the field of a shape. Dimensions are named by the tag and their size."""
    fields = []
    for size in dims:
        number = b"\x08" + varint(size) if size else b""
        fields.append(bytes_field(2, number + bytes_field(2, tag + f"_{size}".encode())))
    return bytes_field(2, b"".join(fields))


#: What is stored of every tensor where nothing is selected: all that there is.
ALL = Stored(raw=True, reductions=DERIVED, shape=True)

_SPREADS = ("std", "variance")
# A number that was captured once is its own mean.
_VALUE = Reduction("mean")


@dataclass(frozen=True, slots=True)
class Number:
    """A record of one number: the tensor of a row, the reduction of a column."""

    tag: str
    dtype: np.dtype[np.generic]
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Full:
    """A record of a full value; see ``Content``."""

    tag: str
    data_type: int
    shape: tuple[int, ...]
    size_bytes: int


@dataclass(slots=True)
class TensorSelection:
    """What a step stores: records in order, and shapes that are stored by themselves."""

    reductions: list[Reduction] = field(default_factory=list)  # that some tensor needs, by column
    entries: list[Number | Full] = field(default_factory=list)
    #: Of each tensor whose shape is stored by itself its name, that in the framework, the shape.
    shapes: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)
    #: Row, column and tensor of the reductions that need full values.
    from_values: list[tuple[int, int, str]] = field(default_factory=list)

    def column(self, reduction: Reduction) -> int:
        """Return the column of a reduction, a new one if it has none."""
        if reduction not in self.reductions:
            self.reductions.append(reduction)
        return self.reductions.index(reduction)


@dataclass(frozen=True, slots=True)
class Facts:
    """What of a step's numbers, not of its names, decides what is stored.

    Args:
        once: Which tensors have one element that was captured once, shape ``[tensors]``.
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


def select_records(
    layout: Layout,
    stored: Sequence[Stored | None],
    contents: Mapping[str, Content],
    facts: Facts,
) -> TensorSelection:
    """Return what a step stores.

    The value of a scalar follows from its statistics. Where nothing is selected, it stands for its
    reductions, and reductions are float64; else they have the dtype of their tensor.

    Args:
        layout: The tensors.
        stored: What to store of each; ``ALL`` itself where nothing is selected.
        contents: The full values that are stored, by name.
        facts: About the numbers.
    """
    choice = TensorSelection()
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
            choice.shapes.append((info.name, info.name, info.shape))
    return choice


def _value_of(
    info: TensorInfo,
    what: Stored,
    row: int,
    contents: Mapping[str, Content],
    facts: Facts,
    choice: TensorSelection,
) -> Number | Full | None:
    """Return the record of the value; ``None`` if it is not to be stored, or not there."""
    if not what.raw:
        return None
    full = contents.get(info.name)
    if full is not None:
        return Full(info.name, full.data_type, full.shape, len(full.data))
    if info.shape or info.name in facts.raw or not _is_number(info.dtype):
        return None
    dtype = stored_dtype(np.dtype(info.dtype)) if facts.once[row] else np.dtype(np.float64)
    return Number(info.name, dtype, row, choice.column(_VALUE))


def _add_reductions(
    info: TensorInfo, what: Stored, row: int, facts: Facts, choice: TensorSelection
) -> None:
    if not _is_number(info.dtype) or 0 in info.shape:
        return
    dtype = np.dtype(np.float64) if what is ALL else _reduced_dtype(info.dtype)
    for number, reduction in enumerate(what.reductions):
        if what is ALL and facts.unknown is not None and facts.unknown[row, number]:
            continue
        if what is ALL and facts.once[row] and reduction.name in _SPREADS:
            continue  # one element has none
        if reduction.name in NEED_VALUES:
            if info.name not in facts.raw:
                continue
            choice.from_values.append((row, choice.column(reduction), info.name))
        # By its whole name where everything is stored: it shall be found again.
        whole = f"{REDUCTION_PREFIX}{reduction.stored}/{info.name}"
        tag = whole if what is ALL else reduction_name(reduction, info.name)
        choice.entries.append(Number(tag, dtype, row, choice.column(reduction)))


def _is_number(dtype: str) -> bool:
    """Return whether there are statistics of this dtype."""
    return not dtype.startswith(("<U", ">U", "str", "complex", "object"))


def _reduced_dtype(dtype: str) -> np.dtype[np.generic]:
    """Return the dtype of reductions: that of the tensor if its elements are not whole."""
    stored = stored_dtype(np.dtype(dtype))
    return stored if stored.kind == "f" and stored in DATA_TYPES else np.dtype(np.float64)
