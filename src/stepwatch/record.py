"""What one worker saw at one step: the value that crosses from capture to formats and rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .steps import Mode


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor besides its numbers.

    Args:
        name: Unique within a step and worker.
        collection: What kind of tensor it is; one of ``collection.BUILT_IN``.
        dtype: The name numpy or ml_dtypes gives it, such as ``float32`` or ``bfloat16``.
        shape: Its shape, ``()`` for a scalar.
        trainable: Whether gradients are wanted for it; ``None`` for what is no parameter.
        optimizer_groups: How many parameter groups of optimizers hold it; ``None`` for what is
            no parameter or when no optimizer was seen yet.
        offset: Where the part that this worker holds begins in the whole tensor, whose shape is
            ``shape``; ``None`` for a worker that holds all of it.
    """

    name: str
    collection: str
    dtype: str
    shape: tuple[int, ...]
    trainable: bool | None = None
    optimizer_groups: int | None = None
    offset: tuple[int, ...] | None = None


class Layout:
    """The tensors of a step, in the order in which they were observed.

    Many steps share one layout, so what is looked up in it is looked up once.

    Args:
        tensors: Names must be unique.
    """

    def __init__(self, tensors: tuple[TensorInfo, ...]) -> None:
        self.tensors = tensors
        self._matching: dict[str, npt.NDArray[np.bool_]] = {}

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each name."""
        return {tensor.name: row for row, tensor in enumerate(self.tensors)}

    @cached_property
    def has_parts(self) -> bool:
        """Whether a part of a tensor is among them, that other workers hold the rest of."""
        return any(tensor.offset is not None for tensor in self.tensors)

    @cached_property
    def rows_of(self) -> dict[str, npt.NDArray[np.intp]]:
        """The rows of each collection, ascending."""
        rows: dict[str, list[int]] = {}
        for row, tensor in enumerate(self.tensors):
            rows.setdefault(tensor.collection, []).append(row)
        return {collection: np.array(which, np.intp) for collection, which in rows.items()}

    def matching(self, pattern: str) -> npt.NDArray[np.bool_]:
        """Return which names the regular expression finds itself in, shape ``[tensors]``."""
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
        worker: Who saw it, such as ``worker_0``.
        mode: What the model was used for.
        step: The global step, over all modes.
        mode_step: The step within ``mode``.
        time_ns: When the step ended, nanoseconds since the Unix epoch.
        layout: The tensors, in the order of execution.
        statistics: Shape ``[tensors, NUM_FIELDS]``, float64, a row each.
        raw: Full values of some of the tensors, by name; of a tensor with an offset, its part.
        digests: 64-bit digests of the values of some of the tensors, by name; see ``digest``.
        exponents: Histograms of the exponents of some of the tensors, by name; see ``exponents``.
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
