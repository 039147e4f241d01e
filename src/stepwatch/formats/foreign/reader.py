"""Shows a run of others as a run: see ``interface.RunReader``."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import TensorUnavailable
from ...model.record import StepRecord
from ...model.steps import Mode
from ..interface import Located, StepRange, step_ranges
from ..manifest import FIRST_WORKER, End, Manifest
from ..native.observations import to_table
from .series import Logged, records, tensor_of

if TYPE_CHECKING:
    from . import Source

#: A run of which it is not known how it ended goes on while its files changed so recently.
_FRESH_S = 60.0


@dataclass(frozen=True, slots=True)
class Glance:
    """How a run of others stands, in a few numbers.

    Args:
        state: ``running``, ``finished`` or ``failed``.
        last_step: The last step that was logged; -1 for none.
        last_loss: The last training loss; ``None`` if there is none.
        started_s: When it began, seconds since the Unix epoch; 0 where that is not known.
    """

    state: str
    last_step: int
    last_loss: float | None
    started_s: float


def glance_at(logged: Logged, path: Path) -> Glance:
    """Return how a run stands of which the last values were read."""
    last_step, losses = -1, list[tuple[int, float]]()
    for name, points in logged.series.items():
        point = points[-1]
        last_step = max(last_step, point.step)
        if isinstance(point.value, float) and "loss" in name.lower():
            tensor, mode = tensor_of(name)
            if tensor.collection == "losses" and mode is Mode.TRAIN:
                losses.append((point.step, point.value))
    loss = losses[0][1] if losses else None
    return Glance(logged.state or _state(path), last_step, loss, logged.started_s)


def _state(path: Path) -> str:
    """Return whether a run goes on of which only its files are known."""
    changed = max((when for _, when, _ in _stamp(path)), default=0.0)
    return "running" if time.time() - changed < _FRESH_S else "finished"


class ForeignReader:
    """Reads a run of others; what they logged is in memory.

    Args:
        source: What reads it.
        kind: The source's name.
        path: Where it lies.
        name: Its name there.
    """

    def __init__(self, source: Source, kind: str, path: Path, name: str) -> None:
        self._source, self._kind, self._path, self._name = source, kind, path, name
        self._stamp: object = None
        self._read: Logged = Logged()
        self._records: list[StepRecord] = []
        self._manifest = Manifest(name or path.name, 0, run_format=kind)
        self.refresh()

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    @property
    def workers(self) -> tuple[str, ...]:
        return (FIRST_WORKER,) if self._records else ()

    @property
    def settings(self) -> dict[str, object]:
        """What the run was started with."""
        return dict(self._read.settings)

    def refresh(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        self._read = self._source.read(self._path, self._name)
        self._records = records(self._read, FIRST_WORKER)
        first_ns = min((one.time_ns for one in self._records if one.time_ns), default=0)
        self._manifest = Manifest(
            self._name or self._path.name,
            int(self._read.started_s * 1e9) or first_ns,
            run_format=self._kind,
        )

    def ends(self) -> dict[str, End]:
        state = self._read.state or _state(self._path)
        if state == "running":
            return {}
        last_ns = max((one.time_ns for one in self._records), default=0)
        return {FIRST_WORKER: End(state, last_ns, len(self._records), error=self._read.error)}

    def last_complete(self, ended: Collection[str], num_workers: int) -> int:
        del ended, num_workers
        return self._records[-1].step if self._records else -1

    def step_ranges(self, worker: str) -> list[StepRange]:
        del worker
        return step_ranges(self._records)

    def tensors(self) -> dict[str, str]:
        found = {
            info.name: info.collection
            for layout in {id(one.layout): one.layout for one in self._records}.values()
            for info in layout.tensors
        }
        return dict(sorted(found.items()))

    def observations(
        self,
        tensors: frozenset[str] | None = None,
        columns: Sequence[str] | None = None,
        step: tuple[Mode, int] | None = None,
    ) -> Iterator[tuple[str, pa.Table]]:
        if not self._records:
            return
        wanted = [one for one in self._records if step is None or _may_hold(one, *step)]
        table = to_table(wanted, [None] * len(wanted))
        if tensors is not None and len(table):
            chosen = [name in tensors for name in table.column("tensor").to_pylist()]
            table = table.filter(pa.array(chosen))
        yield FIRST_WORKER, table if columns is None else table.select(list(columns))

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> Iterator[Located]:
        del worker
        for one in self._records:
            is_wanted = mode in (Mode.GLOBAL, one.mode) and tensor in one.layout.row_of
            if is_wanted and (step is None or _may_hold(one, mode, step)):
                yield Located(FIRST_WORKER, one.step, one.mode_step, None)

    def records(self, worker: str, after: int = -1) -> Iterator[StepRecord]:
        del worker
        return (one for one in self._records if one.step > after)

    def raw(self, worker: str, blob: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        del worker, blob
        raise TensorUnavailable(f"no full value of {tensor!r} at step {step}: none was logged")


def _may_hold(record: StepRecord, mode: Mode, step: int) -> bool:
    number = record.step if mode is Mode.GLOBAL else record.mode_step
    return number == step and mode in (Mode.GLOBAL, record.mode)


def _stamp(path: Path) -> tuple[tuple[str, float, int], ...]:
    """Return name, time of change and size of the files that a run lies in."""
    found = []
    paths = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    for one in paths:
        try:
            state = os.stat(one)
        except OSError:
            continue
        found.append((str(one), state.st_mtime, state.st_size))
    return tuple(sorted(found))
