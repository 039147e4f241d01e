"""Cuts a profile into windows, so that rules see the same ones live and in replay.

Windows end at whole multiples of their length since the Unix epoch, whenever a run began and
whoever looks. One is shown once something was written that is later than its end by ``LATE_NS``:
until then somebody may still write to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from ...formats.profile.machine import Machine
from .window import ProfileWindow

LATE_NS = 15 * 10**9
#: A long profile is read in pieces of so many windows.
_PIECE = 60


class Profile(Protocol):
    """What is asked of a profile; ``trial.profile.Profile`` has it."""

    @property
    def bounds(self) -> tuple[int, int] | None:
        """When the first row begins and the last ends."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """What is known of each machine."""

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
        """Return readings of devices, ascending by time."""

    def spans(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
        """Return timed intervals, ascending by their start."""


class Cutter:
    """Hands out the windows of a profile, in order and each once.

    Args:
        length_ns: How long a window is.
    """

    def __init__(self, length_ns: int) -> None:
        self._length_ns = length_ns
        self._next_ns: int | None = None
        self._step = -1

    def windows(self, profile: Profile, *, ended: bool) -> Iterator[ProfileWindow]:
        """Yield the windows that are complete and were not handed out yet.

        Args:
            profile: As it is now.
            ended: Whether nothing more will be written; then the last window is one, too.
        """
        bounds = profile.bounds
        if bounds is None:
            return
        length = self._length_ns
        if self._next_ns is None:
            self._next_ns = bounds[0] // length * length
        last_ns = bounds[1] if ended else bounds[1] - LATE_NS - length
        machines = dict(profile.machines)
        while self._next_ns <= last_ns:
            pieces = min(_PIECE, (last_ns - self._next_ns) // length + 1)
            end_ns = self._next_ns + pieces * length
            yield from self._cut(profile, machines, end_ns, bounds[1] if ended else None)

    def _cut(
        self,
        profile: Profile,
        machines: dict[str, Machine],
        end_ns: int,
        run_ended_ns: int | None,
    ) -> Iterator[ProfileWindow]:
        assert self._next_ns is not None
        system = profile.system(self._next_ns, end_ns)
        spans = profile.spans(self._next_ns, end_ns + 1)
        times = system.column("time_ns").to_numpy()
        ends = spans.column("start_ns").to_numpy() + spans.column("longest_ns").to_numpy()
        steps = spans.column("step").to_numpy()
        for start in range(self._next_ns, end_ns, self._length_ns):
            stop = start + self._length_ns
            inside = (ends >= start) & (ends < stop)
            self._step = max(self._step, int(steps[inside].max(initial=-1)))
            self._next_ns = stop
            low, high = np.searchsorted(times, (start, stop))
            yield ProfileWindow(
                start_ns=start,
                end_ns=stop,
                step=self._step,
                system=system.slice(low, high - low),
                spans=spans.filter(pa.array(inside)),
                machines=machines,
                is_last=run_ended_ns is not None and stop > run_ended_ns,
            )
