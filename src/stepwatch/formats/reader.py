"""What a reader of a run gives back, whatever the format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..record import StepRecord
from ..steps import Mode
from .manifest import End, Manifest
from .step_range import StepRange


class Located(NamedTuple):
    """Where the full value of a tensor lies: whose, of which step, and in which file if in one.

    Of a part of a tensor also where it begins in the whole, and the shape of the whole.
    """

    worker: str
    step: int
    mode_step: int
    blob: str | None
    offset: tuple[int, ...] | None = None
    shape: tuple[int, ...] = ()


class RunReader(Protocol):
    """Reads a run, while it is being written or years later.

    It shows the run as of its last ``refresh``. Bytes that cannot be what a writer wrote raise
    ``CorruptRun`` with key and offset.
    """

    @property
    def manifest(self) -> Manifest:
        """What the run is."""

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote so far."""

    def refresh(self) -> None:
        """See what was written since."""

    def ends(self) -> dict[str, End]:
        """Return how each worker's part ended, for those that ended."""

    def last_complete(self, ended: Collection[str], num_workers: int) -> int:
        """Return the last global step that no worker will add to; -1 if there is none.

        Args:
            ended: Workers that will write no more.
            num_workers: How many workers the run has.
        """

    def step_ranges(self, worker: str) -> list[StepRange]:
        """Return the steps that a worker wrote."""

    def tensors(self) -> dict[str, str]:
        """Return the collection of every tensor, in the order of names."""

    def observations(
        self,
        tensors: frozenset[str] | None = None,
        columns: Sequence[str] | None = None,
        step: tuple[Mode, int] | None = None,
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield worker and rows of some tensors (all by default), with these columns.

        Args:
            tensors: Names; more rows may come where that costs nothing.
            columns: Of ``observations.SCHEMA``; all by default.
            step: Only rows that may be of this step, as its mode counts it.
        """

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> Iterator[Located]:
        """Yield where the values of a tensor lie.

        Args:
            tensor: Its name.
            mode: Only steps of this mode; GLOBAL for all.
            worker: Only this one's; ``None`` for all.
            step: Rows of other steps than this one, as ``mode`` counts it, may be left out.
        """

    def records(self, worker: str, after: int = -1) -> Iterator[StepRecord]:
        """Yield the steps of a worker that follow step ``after``, ascending."""

    def raw(self, worker: str, blob: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value, of a row whose column ``blob`` says where it lies."""
