"""Reads MXNet's arrays into rows of the open step.

MXNet computes in the background, and changes weights and gradients in place. To read an array
waits for what it is computed from, so what is read here is the value that the training has now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt
from mxnet.base import MXNetError
from mxnet.gluon import Parameter
from mxnet.ndarray import NDArray
from mxnet.symbol import Symbol

from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.plan import NOTHING
from stepwatch.model.record import TensorInfo
from stepwatch.numerics.statistics import NAN, NEGINF, POSINF

Array = npt.NDArray[np.generic]


def to_numpy(array: NDArray) -> Array:
    """Return a copy of the value of an array, once it is computed; of a sparse one all of it.

    Raises:
        MXNetError: To compute it failed, or something that it is computed from.
    """
    value: Array = array.asnumpy()
    if value.dtype.names == ("bfloat16",):  # a record of one integer, as numpy has no such number
        return value.view(np.uint16).view(ml_dtypes.bfloat16)
    return value


def widened(value: Array) -> Array:
    """Return values that can be multiplied without leaving the range of 16 bits."""
    return value.astype(np.float32) if value.dtype.itemsize < 4 else value


def arrays_in(value: object, path: str = "") -> Iterator[tuple[str, NDArray]]:
    """Yield every array of nested tuples and lists with its path, such as ``/1/0``.

    A value that is an array has the path that is given.
    """
    if isinstance(value, NDArray):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for index, inner in enumerate(value):
            yield from arrays_in(inner, f"{path}/{index}")


def sole_argument(given: tuple[object, ...]) -> object:
    """Return the argument of a call that has but one, else all of them."""
    return given[0] if len(given) == 1 else given


def is_symbolic(value: object) -> bool:
    """Return whether symbols are in nested tuples and lists: a graph is made, nothing runs."""
    if isinstance(value, (tuple, list)):
        return any(map(is_symbolic, value))
    return isinstance(value, Symbol)


class ArrayReader:
    """Reads arrays.

    MXNet raises what failed in the background where it is read first, and nowhere after. So such
    an error is kept, to be given back to the training.
    """

    def __init__(self) -> None:
        self._error: MXNetError | None = None

    def read(self, array: NDArray) -> Array | None:
        """Return the value of an array; ``None`` where computing it failed."""
        try:
            return to_numpy(array)
        except MXNetError as error:
            self._error = error
            return None

    def give_back(self) -> None:
        """Raise, once, the error that was kept."""
        error, self._error = self._error, None
        if error is not None:
            raise error


# Inputs are observed only of blocks whose output is not finite, and of so many in a step.
MOST_BAD_BLOCKS = 20
_NO_ARRAY = "no array in what it returned"


class Observer:
    """Turns arrays into rows of the open step."""

    def __init__(self) -> None:
        #: What was observed so far.
        self.observed: set[str] = set()
        #: The blocks that returned, and why what they returned could not be observed, if so.
        self.returned: dict[str, str | None] = {}
        self._last: tuple[NDArray, OpenStep, int] | None = None
        self._num_bad = 0
        self.reading = ArrayReader()

    def restart(self) -> None:
        """A step is over."""
        self._last, self._num_bad = None, 0

    def outputs(
        self, step: OpenStep, block: str, given: tuple[object, ...], output: object
    ) -> None:
        """Observe what a block returned; and what it was given, if that is not finite."""
        bad, found = False, False
        for path, array in arrays_in(output):
            name = f"output/{block}{path}"
            self._output(step, name, array)
            bad, found = bad or _has_non_finite(step, name), True
        if self.returned.get(block, "") is not None:
            self.returned[block] = None if found else _NO_ARRAY
        if bad and self._num_bad < MOST_BAD_BLOCKS:
            self._num_bad += 1
            for path, array in arrays_in(sole_argument(given), f"input/{block}"):
                self.array(step, path, "inputs", array)

    def array(self, step: OpenStep, name: str, kind: str, array: NDArray) -> int | None:
        """Observe an array as it is now; return its row if it is new and wanted."""
        info = TensorInfo(name, kind, _dtype_name(array), array.shape)
        if step.level(info) == NOTHING:
            self.observed.add(name)
            return None
        value = self.reading.read(array)
        return None if value is None else self.value(step, name, kind, value)

    def value(
        self,
        step: OpenStep,
        name: str,
        kind: str,
        value: Array,
        *,
        trainable: bool | None = None,
    ) -> int | None:
        """Observe a value; return its row if it is new and wanted."""
        self.observed.add(name)
        return step.add(TensorInfo(name, kind, value.dtype.name, value.shape, trainable), value)

    def loss(self, step: OpenStep, name: str, array: NDArray) -> None:
        """Observe a loss, that of a batch being the mean over its samples."""
        value = self.reading.read(array)
        if value is not None and value.size:
            mean = value.mean(dtype=np.float64).astype(widened(value).dtype)
            self.value(step, name, "losses", np.asarray(mean))

    def scalar(self, step: OpenStep, name: str, kind: str, value: float) -> None:
        """Observe one number."""
        self.value(step, name, kind, np.asarray(value, np.float64))

    def parameter(
        self, step: OpenStep, name: str, parameter: Parameter, *, scale: float, summed: bool
    ) -> None:
        """Observe a parameter on the first of its devices, and its gradient if there is a new one.

        A parameter is left out while its shape is not known.

        Args:
            scale: What its update multiplies the gradient by.
            summed: The gradients of all devices are one sum already.
        """
        if name in step or not parameter._data:
            return
        if not parameter._differentiable:
            self.array(step, name, "buffers", parameter._data[0])
            return
        is_new = parameter._grad and parameter._data[0]._fresh_grad
        parts = parameter._grad[:1] if is_new and summed else parameter._grad if is_new else ()
        trainable = parameter.grad_req != "null"
        self.parts(step, name, parameter._data[0], parts, scale, trainable=trainable)

    def parts(
        self,
        step: OpenStep,
        name: str,
        weight: NDArray,
        gradients: Sequence[NDArray | None],
        scale: float,
        *,
        trainable: bool = True,
    ) -> None:
        """Observe a weight, and the sum of its gradients as its update multiplies it.

        Args:
            gradients: Those that are added up; ``None`` among them for none.
            scale: What the update multiplies their sum by.
            trainable: Whether gradients are wanted.
        """
        value = self._wanted(step, name, "weights", weight)
        if value is not None:
            self.value(step, name, "weights", value, trainable=trainable)
        known = [part for part in gradients if part is not None]
        if trainable and known:
            self._gradient(step, f"gradient/{name}", known, scale)

    def _gradient(self, step: OpenStep, name: str, parts: Sequence[NDArray], scale: float) -> None:
        first = self._wanted(step, name, "gradients", parts[0])
        if first is None:
            return
        for part in parts[1:]:
            value = self.reading.read(part)
            first = first if value is None else np.add(first, value)
        used = first if scale == 1 else np.multiply(widened(first), np.float32(scale))
        self.value(step, name, "gradients", used)

    def _wanted(self, step: OpenStep, name: str, kind: str, array: NDArray) -> Array | None:
        self.observed.add(name)
        info = TensorInfo(name, kind, _dtype_name(array), array.shape)
        return None if step.level(info) == NOTHING else self.reading.read(array)

    def _output(self, step: OpenStep, name: str, array: NDArray) -> None:
        if self._last is not None:
            last, where, row = self._last
            # A container returns what its last part returned.
            info = TensorInfo(name, "outputs", _dtype_name(array), array.shape)
            if last is array and where is step and step.alias(info, row):
                self.observed.add(name)
                return
        row_added = self.array(step, name, "outputs", array)
        if row_added is not None:
            self._last = (array, step, row_added)


def _dtype_name(array: NDArray) -> str:
    dtype = np.dtype(array.dtype)
    return str(dtype.names[0] if dtype.names else dtype.name)


def _has_non_finite(step: OpenStep, name: str) -> bool:
    if name not in step:
        return False
    statistics = step.statistics_of(step.row_of(name))
    return bool(statistics[NAN] or statistics[POSINF] or statistics[NEGINF])
