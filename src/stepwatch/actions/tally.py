"""How often an action was done, and about what: each finding once, and not too often."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ..finding import Finding
from ..formats.actions import ActionNote
from .policy import Entry


class Tally:
    """Admits findings to an action.

    Args:
        entry: The action and its terms.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._seen: set[str] = set()
        self._count = 0
        self._last: int | None = None
        self._lock = threading.RLock()  # batches are judged on another thread than steps

    def recall(self, notes: Iterable[ActionNote]) -> None:
        """Count what was done before, maybe by another process, about findings of the run."""
        for note in notes:
            if note.entry == self.entry.entry_id and note.outcome == "done":
                self._seen.add(note.finding_id)
                self._count += 1
                self._last = max(note.step, self._last or 0)

    def is_known(self, finding: Finding) -> bool:
        """Return whether this finding was here before; the next time it will have been."""
        with self._lock:
            known = finding.finding_id in self._seen
            self._seen.add(finding.finding_id)
            return known

    def limit(self, step: int) -> str:
        """Count one at this step, unless a limit is reached; return which, empty for none."""
        at_most, cooldown = self.entry.at_most, self.entry.terms.cooldown_steps
        with self._lock:
            if at_most is not None and self._count >= at_most:
                return f"at_most={at_most} was reached"
            if self._last is not None and step - self._last < cooldown:
                return f"fewer than cooldown_steps={cooldown} steps after step {self._last}"
            self._count += 1
            self._last = step
            return ""

    def give_back(self) -> None:
        """Nothing was done after all about one that was counted."""
        with self._lock:
            self._count -= 1
