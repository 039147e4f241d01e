"""The audit log: what was done about which finding, in the run, whoever did it."""

from __future__ import annotations

import threading
import time

from ..background import Background
from ..finding import Finding
from ..formats.actions import ActionNote, Outcome, read_actions, write_actions
from ..store import Store
from .policy import Entry

# How long the end of a training waits for the last of it to be stored.
_CLOSE_TIMEOUT_S = 5.0


class ActionLog:
    """Notes what is done, from any thread and without waiting; a thread of its own stores it.

    Args:
        store: Where the run lies.
        who: Who does it.
    """

    def __init__(self, store: Store, who: str) -> None:
        self._store, self._who = store, who
        #: What was noted by others, such as an earlier watcher of the run.
        self.before = read_actions(store)
        self._notes: list[ActionNote] = []
        self._lock = threading.RLock()  # a signal handler may note, or close, in the middle
        self._background: Background[int] | None = None
        self._stored = 0

    def note(
        self, entry: Entry, finding: Finding, outcome: Outcome, detail: str = "", error: str = ""
    ) -> None:
        """Note how it went."""
        note = ActionNote(
            time_ns=time.time_ns(),
            finding_id=finding.finding_id,
            rule=finding.rule,
            step=finding.step,
            action=entry.name,
            entry=entry.entry_id,
            outcome=outcome,
            detail=detail,
            error=error,
        )
        with self._lock:
            self._notes.append(note)
            if self._background is None:
                self._background = Background(self._write, name="stepwatch-log")
            self._background.submit(len(self._notes))

    def close(self) -> None:
        """Store what is left, if the store takes it in time."""
        if self._background is not None:
            self._background.close(_CLOSE_TIMEOUT_S)

    def _write(self, count: int) -> None:
        if count > self._stored:  # else what came after it was stored with it
            notes = list(self._notes)
            write_actions(self._store, self._who, notes)
            self._stored = len(notes)
