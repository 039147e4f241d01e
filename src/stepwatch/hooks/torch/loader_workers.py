"""What the processes of a data loader do: each batch that one of them makes.

They are forked, and so they hold what stands in the place of torch's function, and a pipe. What
does not fit into the pipe is not told: a loader never waits for us. Where processes are not forked
nothing is told of them.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torch.utils.data import get_worker_info
from torch.utils.data._utils import fetch

from ...capture.spans import Spans
from ...formats.profile.tables import Span
from ..replaced import Replaced

# Worker, when it began, how long it took. The kernel writes so few bytes all at once.
_RECORD = struct.Struct("=qqq")
_MOST_BYTES = 1 << 20


class LoaderWorkers:
    """Listens to the processes of data loaders that begin from now on, until ``remove``.

    Args:
        spans: Who takes it.
        names: Returns a regular expression that finds itself in what is taken; ``""`` for nothing.
    """

    def __init__(self, spans: Spans, names: Callable[[], str]) -> None:
        self._spans, self._names = spans, names
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._replaced = Replaced()
        for kind in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            self._replaced.put(kind, "fetch", self._around)
        spans.gatherers.append(self.gather)

    def remove(self) -> None:
        """Listen no more."""
        self._replaced.remove()
        self.gather()
        self._spans.gatherers.remove(self.gather)
        os.close(self._read)
        os.close(self._write)

    def gather(self) -> None:
        """Take what was told up to now."""
        data = b""
        with suppress(OSError):  # nothing there
            data = os.read(self._read, _MOST_BYTES)
        names = self._names()
        if not names or not re.search(names, "fetch"):
            return
        for worker, began, took in _RECORD.iter_unpack(data[: len(data) // 24 * 24]):
            self._spans.add(Span(began, took, "loader", "fetch", thread=f"loader/{worker}"))

    def _around(self, original: Any) -> Any:
        write = self._write

        def call(fetcher: Any, indices: Any) -> Any:
            worker = get_worker_info()
            if worker is None:
                return original(fetcher, indices)  # in the training process it is the wait itself
            began = time.perf_counter_ns()
            batch = original(fetcher, indices)
            with suppress(OSError):
                os.write(write, _RECORD.pack(worker.id, began, time.perf_counter_ns() - began))
            return batch

        return call
