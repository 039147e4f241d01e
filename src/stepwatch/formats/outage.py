"""An outage of a store: steps wait in memory, in their order, and the store is asked now and then.

One that is away takes nothing, whatever it is given: a bucket whose server does not answer, a disk
that can only be read. What it refuses for what it is, such as a file that is too large for the
room that is left, is given up, so that it keeps nothing else waiting.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ..errors import StoreAway

#: So many bytes of steps wait for a store that is away; those that come later are dropped.
KEPT_BYTES = 256 << 20
#: How long a store that is away is asked again at the end of a run.
LAST_PATIENCE_S = 10.0
#: How long until a store that refuses is asked again: each time twice as long, up to the last.
PAUSE_S, LONGEST_PAUSE_S = 1.0, 8.0

_log = logging.getLogger("stepwatch")


class Outage:
    """Says whether a store is away, and when to ask it again.

    Args:
        clock: Seconds, monotonic; for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._error: StoreAway | None = None
        self._pause, self._again_at = PAUSE_S, 0.0

    @property
    def asks_again(self) -> bool:
        """Whether it is time to ask; also where the store is there."""
        return self._error is None or self._clock() >= self._again_at

    def begins(self, error: StoreAway) -> None:
        """The store was asked, and is away."""
        if self._error is None:
            _log.warning("%s; steps wait in memory, and it is tried again", error)
        self._error, self._again_at = error, self._clock() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_S)

    def ends(self) -> None:
        """The store took something."""
        self._error, self._pause = None, PAUSE_S

    def check(self) -> None:
        """Raise why the store is away, if it is: StoreAway."""
        if self._error is not None:
            raise self._error

    def check_room(self, held_bytes: int) -> None:
        """Raise why the store is away, if it is and this is more than may wait for it."""
        if held_bytes > KEPT_BYTES:
            self.check()


def store_the_last(flush: Callable[[], object]) -> None:
    """Store what is left, and wait for a store that is away.

    Args:
        flush: Stores it.

    Raises:
        StoreAway: It was away for ``LAST_PATIENCE_S``.
    """
    give_up_at = time.monotonic() + LAST_PATIENCE_S
    while True:
        try:
            flush()
        except StoreAway:
            if time.monotonic() >= give_up_at:
                raise
        else:
            return
        time.sleep(PAUSE_S)
