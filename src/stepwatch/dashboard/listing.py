"""The table of runs: how each stands, looked at in turn so that no answer waits for all."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass

from ..errors import StepwatchError
from ..finding import plain
from ..trial import Trial
from ..trial.found import glance
from .open_runs import OpenRuns

# For how long runs are looked at for one answer, and when a row is looked at again.
_PATIENCE_S = 0.3
_AGAIN_S = {"running": 1.0}
_AGAIN_ENDED_S = 20.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """A row of the table, and when to look again."""

    row: dict[str, object]
    again: float


class Listing:
    """How the runs stand.

    Args:
        runs: Which there are.
    """

    def __init__(self, runs: OpenRuns) -> None:
        self._runs = runs
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.Lock()

    def rows(self) -> dict[str, object]:
        """Return a row for each run, those not looked at yet with their name only."""
        with self._lock:
            names = self._runs.names()
            self._look(names)
            seen = {name: self._seen[name].row for name in names if name in self._seen}
        rows = [seen.get(name, {"name": name, "state": ""}) for name in names]
        return {
            "place": self._runs.place,
            "one": self._runs.is_one,
            "runs": rows,
            "pending": len(names) - len(seen),
        }

    def _look(self, names: list[str]) -> None:
        until = time.monotonic() + _PATIENCE_S
        due = {name: self._seen[name].again if name in self._seen else 0.0 for name in names}
        for name in sorted(names, key=lambda name: due[name]):
            now = time.monotonic()
            if now > until or due[name] > now:
                return
            row = self._row(name)
            wait = _AGAIN_S.get(str(row["state"]), _AGAIN_ENDED_S)
            self._seen[name] = _Seen(row, time.monotonic() + wait)

    def _row(self, name: str) -> dict[str, object]:
        try:
            found = asdict(glance(Trial(self._runs.url(name))))
        except StepwatchError as error:
            return {"name": name, "state": "unreadable", "error": str(error)}
        return {"name": name, **{key: plain(value) for key, value in found.items()}}
