"""A run that another one is compared with, read step by step beside it."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats import open_reader
from ..record import StepRecord
from ..steps import Mode
from ..store import open_store


class OtherRun:
    """The steps of a finished run, as far as they are asked for.

    Args:
        url: Where it lies.

    Raises:
        RunNotFound: There is no run.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._reader = open_reader(open_store(url))
        self._reader.refresh()
        self._streams = {worker: _Stream(self._reader.records(worker)) for worker in self.workers}

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote it."""
        return self._reader.workers

    def at(self, worker: str, mode: Mode, mode_step: int) -> StepRecord | None:
        """Return a step of a worker as its mode counts it; ``None`` if it was not saved.

        The steps of a mode must be asked for in order.
        """
        return self._streams[worker].at(mode, mode_step)


class _Stream:
    """The steps of one worker; those of other modes that come between are kept for later."""

    def __init__(self, records: Iterator[StepRecord]) -> None:
        self._records = records
        self._kept: dict[tuple[Mode, int], StepRecord] = {}
        self._last: dict[Mode, int] = {}

    def at(self, mode: Mode, mode_step: int) -> StepRecord | None:
        while self._last.get(mode, -1) < mode_step:
            record = next(self._records, None)
            if record is None:
                break
            self._last[record.mode] = record.mode_step
            self._kept[record.mode, record.mode_step] = record
        passed = [key for key in self._kept if key[0] is mode and key[1] < mode_step]
        for key in passed:
            del self._kept[key]
        return self._kept.pop((mode, mode_step), None)
