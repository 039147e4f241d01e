"""The wait for the store at the end of a run: bounded, and told of where it is long."""

from __future__ import annotations

import logging
from time import monotonic
from typing import Any

from ..background import Background, BackgroundReport

# So long nobody wonders why the process does not end.
SILENT_S = 2.0
_TEXT = "waiting for %s to take the last steps, %.0f s at most; Ctrl-C leaves them out"

_log = logging.getLogger("stepwatch")


class LastWait:
    """Waits until the background has done what was handed over.

    A wait that is long is told of once, in a line of the log; from there on Ctrl-C ends the
    waiting, and nothing else.

    Args:
        background: Who has yet to store something.
        place: Where, in words for people.
        timeout: Seconds that all waiting may take together.
    """

    def __init__(self, background: Background[Any], place: str, timeout: float) -> None:
        self._background, self._place = background, place
        self._tell_at = monotonic() + min(SILENT_S, timeout)
        self._give_up_at = monotonic() + timeout
        self._told = False

    def is_done(self) -> bool:
        """Wait until all that was handed over up to now is done; return whether it is."""
        if not self._told and self._background.flush(max(0.0, self._tell_at - monotonic())):
            return True
        told, self._told = self._told, True
        try:
            if not told and self._tell_at <= monotonic() < self._give_up_at:
                _log.warning(_TEXT, self._place, self._left_s())
            return self._background.flush(self._left_s())
        except KeyboardInterrupt:
            self._give_up_at = monotonic()
            return False

    def close(self) -> BackgroundReport:
        """Wait, and close the background; what it has not done by then is given up."""
        self.is_done()
        return self._background.close(self._left_s())

    def _left_s(self) -> float:
        return max(0.0, self._give_up_at - monotonic())
