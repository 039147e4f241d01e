"""Writes one worker's steps for TensorBoard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from ...hook_config import SCALAR_COLLECTIONS
from ...record import StepRecord, TensorInfo
from ...steps import Mode
from ...store import open_store
from ..manifest import End
from .curves import NORMED, Curves, all_curves, curves_of, is_single
from .event import histogram_value, summary_record
from .event_files import Appends, EventFiles
from .histogram import histogram
from .tags import Tags

# How long steps are gathered before they are stored: where files grow, and where each is stored
# anew as a whole.
GATHER_S = 0.75
GATHER_WHOLE_S = 10.0
GATHER_BYTES = 1 << 20
# Of so many steps of a mode each has the norms of all tensors, of as many after them each second
# one, of twice as many after these each fourth. TensorBoard shows about as many points.
MOST_NORMS = 1000


class TensorBoardWriter:
    """Writes what TensorBoard shows of one worker's steps.

    The folder has a folder for each mode, and those have one for each worker but ``worker_0``:
    TensorBoard shows each as a run. A step is its global step.

    Args:
        folder: Path or URL.
        worker: Whose steps.
        histogram: Returns the collection under which a tensor's histograms are shown, ``None``
            for no histogram. By default every tensor of more than one element of which the full
            value is saved has them, under its kind, and so have weights and gradients of one.
        scalar: Returns whether a tensor of one element is shown as a curve. It matters where
            ``histogram`` is given, and is by the kind of the tensor then if it is not. Without
            ``histogram``, all are shown, and norms of weights and gradients.
        clock: Seconds, monotonic; for tests.

    Raises:
        ConfigError: No store is installed for the URL.
    """

    def __init__(
        self,
        folder: str,
        worker: str,
        histogram: Callable[[str], str | None] | None = None,
        scalar: Callable[[str], bool] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        #: How many steps could not be stored.
        self.lost = 0
        self._store = open_store(folder)
        self._folder = "" if worker == "worker_0" else f"{worker}/"
        self._histogram = histogram
        self._scalar = scalar
        self._clock = clock
        self._gather_s = GATHER_S if isinstance(self._store, Appends) else GATHER_WHOLE_S
        self._tags = Tags()
        self._curves: dict[Mode, Curves] = {}
        self._num_steps = dict.fromkeys(Mode, 0)
        self._files: dict[Mode, EventFiles] = {}
        self._pending: dict[Mode, list[bytes]] = {}
        self._bytes = 0
        self._since = 0.0

    def write(self, record: StepRecord) -> None:
        """Take one step; later than the ones before."""
        try:
            data = b"".join(self._records(record))
        except BaseException:
            self.lost += 1
            raise
        if not data:
            return
        if not self._pending:
            self._since = self._clock()
        self._pending.setdefault(record.mode, []).append(data)
        self._bytes += len(data)
        if self._bytes >= GATHER_BYTES:
            self.flush()

    def tick(self) -> None:
        """Store what was gathered long enough; call this a few times a second."""
        if self._pending and self._clock() - self._since >= self._gather_s:
            self.flush()

    def flush(self) -> None:
        """Store what was gathered. What cannot be stored is given up, not kept for ever."""
        pending, self._pending, self._bytes = self._pending, {}, 0
        with ExitStack() as work:  # each mode is stored, whatever becomes of the others
            for mode, steps in pending.items():
                work.callback(self._store_steps, mode, steps)

    def close(self, end: End) -> None:
        """Store what is left; TensorBoard does not ask how a run ended."""
        del end
        self.flush()

    def _store_steps(self, mode: Mode, steps: list[bytes]) -> None:
        files = self._files.get(mode)
        if files is None:
            files = self._files[mode] = EventFiles(self._store, f"{mode.value}/{self._folder}")
        try:
            files.add(b"".join(steps))
        except BaseException:
            self.lost += len(steps)
            raise

    def _records(self, record: StepRecord) -> Iterator[bytes]:
        seconds = record.time_ns / 1e9
        number = self._num_steps[record.mode]
        self._num_steps[record.mode] += 1
        points = self._curves_of(record).points(record.statistics, thin=not has_norms(number))
        if points:
            yield summary_record(seconds, record.step, points)
        for name, array in record.raw.items():
            collection = self._collection_of(record, name)
            counted = None if collection is None else histogram(array)
            if counted is not None:
                tag = self._tags[f"{collection}/{name}"]
                yield summary_record(seconds, record.step, histogram_value(tag, counted))

    def _curves_of(self, record: StepRecord) -> Curves:
        curves = self._curves.get(record.mode)
        if curves is None or curves.layout is not record.layout:
            if self._histogram is None:
                curves = all_curves(record.layout, self._tags)
            else:
                curves = curves_of(record.layout, self._tags, self._is_scalar)
            self._curves[record.mode] = curves
        return curves

    def _is_scalar(self, info: TensorInfo) -> bool:
        if self._scalar is not None:
            return self._scalar(info.name)
        return info.collection in SCALAR_COLLECTIONS or info.collection == "scalars"

    def _collection_of(self, record: StepRecord, name: str) -> str | None:
        """Return the collection under which a histogram of a tensor is shown, if one is."""
        if self._histogram is not None:
            return self._histogram(name)
        info = record.layout.tensors[record.layout.row_of[name]]
        is_curve = is_single(info) and info.collection not in NORMED
        return None if is_curve else info.collection


def has_norms(number: int) -> bool:
    """Return whether a step is shown with the norms of all its tensors.

    Args:
        number: How many steps of its mode were shown before it.

    Example:
        >>> list(filter(has_norms, (998, 999, 1000, 1001, 1998, 2001, 2002, 2004)))
        [998, 999, 1000, 1998, 2004]
    """
    every = 1
    while number >= MOST_NORMS * every:
        every *= 2
    return number % every == 0
