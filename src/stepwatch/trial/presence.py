"""Which workers of a run still write, and how it ended once none does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..formats.manifest import End
from ..formats.reader import RunReader
from ..formats.workers import Process, read_processes
from ..store import Store

_WORST_FIRST = ("failed", "stopped", "interrupted", "finished")


@dataclass(frozen=True, slots=True)
class Presence:
    """Who may still write to a run, as of one moment.

    Args:
        first_runs: Whether the process that began the run may still run.
        joined: Of every worker that joined, whether its process may still run.
        ends: How each worker ended that did.
        num_workers: How many workers the run has.
    """

    first_runs: bool
    joined: Mapping[str, bool]
    ends: Mapping[str, End]
    num_workers: int

    def gone(self, wrote: Iterable[str]) -> frozenset[str]:
        """Return the workers that will write no more.

        Args:
            wrote: The workers that wrote so far.
        """
        return frozenset(self.ends) | self._died(wrote)

    def num_awaited(self, wrote: Iterable[str]) -> int:
        """Return how many workers there are to wait for; see ``gone``.

        Once the first is gone nobody joins any more; who joined may have yet to write.
        """
        return self.num_workers if self.first_runs else len({*wrote, *self.joined, *self.ends})

    def state(self, wrote: Iterable[str]) -> str:
        """Return ``running``, or how the run ended."""
        known = {*wrote, *self.joined, *self.ends}
        missing = len(known) < self.num_workers
        if known - self.gone(wrote) or (missing and self.first_runs):
            return "running"
        if missing or self._died(wrote):
            return "died"
        states = [end.state for end in self.ends.values()]
        return next((state for state in _WORST_FIRST if state in states), "finished")

    def _died(self, wrote: Iterable[str]) -> frozenset[str]:
        """Return the workers whose process is gone and left no note."""
        known = {*wrote, *self.joined} - self.ends.keys()
        return frozenset(one for one in known if not self.joined.get(one, self.first_runs))


def look(store: Store, reader: RunReader) -> Presence:
    """Return who writes to a run."""
    # In this order: a process that is gone has left its note.
    first_runs = Process.of(reader.manifest).may_run()
    joined = {
        # Of another machine we do not know; it will not go on for long without the first.
        worker: process.may_run() and (first_runs or process.is_here)
        for worker, process in read_processes(store).items()
    }
    return Presence(first_runs, joined, reader.ends(), reader.manifest.num_workers)
