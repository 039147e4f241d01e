"""The clock of a profile: that of the tensors, and yet no interval is longer than it was.

Intervals are taken by a clock that only goes forward, whatever is done to the machine's time, and
told in the time that the machine had then.
"""

from __future__ import annotations

import time
from collections.abc import Callable

# The two clocks may part by so much before it is noticed: adjusting less would tear steps apart.
_SLACK_NS = 10_000_000


class Clock:
    """Turns ticks of ``time.perf_counter_ns`` into nanoseconds since the Unix epoch.

    Args:
        ticks: The clock that only goes forward; for tests.
        wall: The time of the machine; for tests.

    Example:
        >>> clock = Clock(ticks=lambda: 5, wall=lambda: 1_000)
        >>> clock.unix_ns(7)
        1002
    """

    def __init__(
        self,
        ticks: Callable[[], int] = time.perf_counter_ns,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self.ticks = ticks
        self._wall = wall
        #: How much later a moment is, since the Unix epoch, than its tick says.
        self.offset_ns = wall() - ticks()

    def unix_ns(self, ticks: int) -> int:
        """Return when a tick was."""
        return ticks + self.offset_ns

    def settle(self) -> None:
        """Follow the time of the machine if that was set, or the machine slept; now and then."""
        offset = self._wall() - self.ticks()
        if abs(offset - self.offset_ns) > _SLACK_NS:
            self.offset_ns = offset
