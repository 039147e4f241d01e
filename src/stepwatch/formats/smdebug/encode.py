"""Tensor records of an event file, as bytes around a hole where the content goes.

A record is an ``Event`` with one ``Summary.Value``: tag, tensor, and which step of which mode it
is of. Everything in it but the wall time, the step, the step within the mode and the content is
the same at every step, and so are all lengths as long as those keep theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...steps import Mode
from .dtypes import DTYPES, UNSET
from .event import MODE_NUMBERS
from .wire import HEADER_BYTES, SMDEBUG_FOOTER, bytes_field, header, varint

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
    """What is stored of a full value.

    Args:
        data_type: Its number in ``DATA_TYPES``, or ``UNSET`` for text.
        shape: Its shape.
        data: Shape ``[bytes]``, uint8.
    """

    data_type: int
    shape: tuple[int, ...]
    data: npt.NDArray[np.uint8]


def stored_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return the dtype in which numbers are stored: float32 for what smdebug cannot read.

    Those are bfloat16 and the floats of eight bits, whose values float32 holds exactly.
    """
    native = dtype.newbyteorder("=")
    if native in DATA_TYPES:
        return native
    small = native in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4))
    return np.dtype(np.int8 if small else np.float32)


def content(array: Array) -> Content:
    """Return what is stored of an array.

    Args:
        array: Numbers of any shape and strides, copied only if they do not lie in order or in
            a dtype that is stored; or texts, of which the shape becomes ``[texts]``.

    Raises:
        TypeError: Neither numbers nor texts.
    """
    if array.dtype.kind == "U":
        return _texts(array.reshape(-1))
    if array.dtype.kind in "OSMm" or array.dtype.names:
        raise TypeError(f"arrays of {array.dtype} cannot be stored; need numbers, bool or text")
    shape = array.shape
    numbers = np.ascontiguousarray(array, dtype=stored_dtype(array.dtype))
    return Content(DATA_TYPES[numbers.dtype], shape, numbers.reshape(-1).view(np.uint8))


def _texts(array: Array) -> Content:
    fields = [bytes_field(_STRING_FIELD, str(text).encode()) for text in array]
    return Content(UNSET, array.shape, np.frombuffer(b"".join(fields), np.uint8))


@dataclass(frozen=True, slots=True)
class StepShape:
    """What a step's numbers make of the lengths of its records.

    Args:
        mode: Its mode.
        step_bytes: Length of the global step as a varint; 0 for step 0, which is left out.
        digits: How many digits the step within the mode has.
    """

    mode: Mode
    step_bytes: int
    digits: int

    @classmethod
    def of(cls, mode: Mode, step: int, mode_step: int) -> StepShape:
        """Return it for a step."""
        return cls(mode, len(step_varint(step)), len(str(mode_step)))


def step_varint(step: int) -> bytes:
    """Return the global step as its record has it; nothing for step 0, which is the default."""
    return varint(step) if step else b""


def tail(shape: StepShape) -> tuple[bytes, int]:
    """Return what follows the content of every record, and where in it the digits stand."""
    before = bytes_field(1, b"mode_step") + b"\x12" + varint(shape.digits)
    step = bytes_field(1, before + b"0" * shape.digits)
    number = str(MODE_NUMBERS[shape.mode]).encode()
    mode = bytes_field(1, bytes_field(1, b"mode") + bytes_field(2, number))
    whole = bytes_field(9, step + mode)
    return whole + SMDEBUG_FOOTER, whole.index(before) + len(before)


def head(
    tag: str, data_type: int, dims: tuple[int, ...], size_bytes: int, step_bytes: int, rest: int
) -> bytes:
    """Return what stands before the content of a record, with zeros for wall time and step.

    Args:
        tag: Name of the tensor.
        data_type: Its number in ``DATA_TYPES``, or ``UNSET`` for text.
        dims: Its shape.
        size_bytes: Length of the content. At least 1.
        step_bytes: As of ``StepShape``.
        rest: Length of the ``tail``.
    """
    name = tag.encode()
    tensor = (b"" if data_type == UNSET else bytes((0x08, data_type))) + _dims(name, dims)
    if data_type != UNSET:
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
