"""From tensors of a framework to rows of the open step.

On the CPU tensors are read where they lie, in one pass of the kernel; those that are met inside of
a graph may leave it as they are. On an accelerator the statistics are computed there, inside of the
graph if there is one, and come to the host together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, STATISTICS
from ...capture.recorder import Recorder
from ...record import TensorInfo
from ...statistics import COUNT, Row
from ...steps import Mode
from .met import Met
from .rows import rows_of


class Reader(Protocol):
    """How tensors are read."""

    #: Whether tensors can be read here without a transfer, so that they are not summed up there.
    on_host: bool

    def words(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Return what ``rows_of`` takes, of at least one tensor; may be traced."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a list of tensors that runs on the accelerator in one piece."""

    def to_numpy(self, value: Any) -> npt.NDArray[np.generic]:
        """Return a tensor as an array, without a copy where that is possible."""

    def dtype_name(self, value: Any) -> str:
        """Return what numpy calls the dtype of a tensor."""


class Packed:
    """Tensors that are observed together, and what of them is needed on the host.

    Args:
        all_met: The tensors; made inside of a graph, they are of that graph.
        reader: How they are read.
        recorder: Who says what is saved of them.
        words: Computes what their statistics follow from.
    """

    def __init__(
        self,
        all_met: Sequence[Met],
        reader: Reader,
        recorder: Recorder,
        words: Callable[[list[Any]], tuple[Any, Any]] | None = None,
    ) -> None:
        self.infos = [
            TensorInfo(
                met.name,
                met.collection,
                reader.dtype_name(met.value),
                tuple(met.value.shape),
                met.trainable,
            )
            for met in all_met
        ]
        policies = getattr(recorder.plan, "policies", None)
        #: Whether the value itself is needed.
        self.leaves = [
            reader.on_host
            or policies is None
            or any(p.raw or p.digest or p.exponents for p in policies(one.name, one.collection))
            for one in self.infos
        ]
        self.values = tuple(
            met.value for met, leaves in zip(all_met, self.leaves, strict=True) if leaves
        )
        values = [met.value for met in all_met]
        is_read = reader.on_host or not values
        self.words = () if is_read else (words or reader.words)(values)

    def release(self) -> None:
        """Hold the tensors no longer: they are of use only where they were met."""
        self.values = self.words = ()


class Observations:
    """Observes tensors, many at a time.

    Args:
        recorder: Who takes the steps.
        reader: How they are read.
    """

    def __init__(self, recorder: Recorder, reader: Reader) -> None:
        self._recorder, self._reader = recorder, reader
        self._words = reader.compiled(reader.words)
        #: The names of all that was observed.
        self.names: set[str] = set()

    def packed(self, all_met: Sequence[Met]) -> Packed:
        """Return what is to leave a graph for tensors that were met while it is traced."""
        return Packed(all_met, self._reader, self._recorder)

    def observe(self, mode: Mode, all_met: Sequence[Met]) -> None:
        """Observe tensors that are at hand."""
        packed = Packed(all_met, self._reader, self._recorder, self._words)
        self.note(mode, packed, packed.values, packed.words)

    def note(self, mode: Mode, packed: Packed, values: Sequence[Any], words: Sequence[Any]) -> None:
        """Observe tensors by what has left a graph for them.

        Args:
            mode: Of the step.
            packed: What is known of them.
            values: Of ``packed.values``.
            words: Of ``packed.words``.
        """
        step, left = self._recorder.open_step(mode), iter(values)
        rows: Sequence[Row | None] = [None] * len(packed.infos)
        if words:
            counts, numbers = words
            rows = list(rows_of(self._reader.to_numpy(counts), self._reader.to_numpy(numbers)))
        for info, leaves, row in zip(packed.infos, packed.leaves, rows, strict=True):
            self.names.add(info.name)
            value = next(left) if leaves else None
            if row is None:
                self._read(step, info, value)
            else:
                self._computed(step, info, row, value)

    def _read(self, step: OpenStep, info: TensorInfo, value: Any) -> None:
        if step.level(info) != NOTHING:
            array = self._reader.to_numpy(value)
            step.add(replace(info, shape=array.shape), array)

    def _computed(self, step: OpenStep, info: TensorInfo, row: Row, value: Any) -> None:
        level = step.level(info)
        if level != NOTHING:
            info = replace(info, shape=_whole(info.shape, int(row[COUNT])))
            step.add_statistics(info, row)
        if level > STATISTICS and value is not None:
            step.add_more(info, self._reader.to_numpy(value), level)


def _whole(shape: tuple[int | None, ...], count: int) -> tuple[int, ...]:
    """Return a shape with the size of a batch that was not known when a graph was traced."""
    known = math.prod(size for size in shape if size is not None)
    missing = count // known if known else 0
    return tuple(missing if size is None else size for size in shape)
