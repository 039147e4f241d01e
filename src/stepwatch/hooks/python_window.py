"""What the functions of Python take in some steps: by cProfile, or by pyinstrument."""

from __future__ import annotations

import cProfile
import marshal
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

from ..optional import require

#: The end of a file's name, and what returns its bytes.
File = tuple[str, Callable[[], bytes]]

# What cProfile may count, in seconds.
_TIMERS: dict[str, Callable[[], float]] = {
    "total_time": time.perf_counter,
    "cpu_time": time.process_time,
    "off_cpu_time": lambda: time.perf_counter() - time.process_time(),
}


class CProfileWindow:
    """Counts each call; files are such as ``pstats.Stats`` reads.

    Args:
        timer: What is counted; ``default`` for another in each step.
    """

    name = "cprofile"

    def __init__(self, timer: str) -> None:
        self._timers = cycle(_TIMERS if timer == "default" else [timer])
        self._rotates = timer == "default"
        self._timer = ""
        self._profile: cProfile.Profile | None = None
        self._files: list[File] = []

    def begin(self, step: int) -> None:
        """Begin before a step."""
        del step
        self._timer = next(self._timers)
        self._profile = cProfile.Profile(_TIMERS[self._timer])
        self._profile.enable()

    def next(self, step: int) -> None:
        """Another step begins."""
        if self._rotates:
            self._take()
            self.begin(step)

    def end(self) -> list[File]:
        """End, and return what was found."""
        self._take()
        return self._files

    def _take(self) -> None:
        profile: Any = self._profile
        profile.disable()
        number = len(self._files)
        suffix = f".{number}-{self._timer}.pstats" if self._rotates else f".{self._timer}.pstats"

        def stats() -> bytes:
            profile.create_stats()
            return marshal.dumps(profile.stats)

        self._files.append((suffix, stats))


class PyinstrumentWindow:
    """Looks at the stack of the training thread a thousand times a second."""

    name = "pyinstrument"

    def __init__(self) -> None:
        pyinstrument = require("pyinstrument", extra="profiler")
        self._renderers = require("pyinstrument.renderers", extra="profiler")
        self._profiler = pyinstrument.Profiler(async_mode="disabled")

    def begin(self, step: int) -> None:
        """Begin before a step."""
        del step
        self._profiler.start()

    def next(self, step: int) -> None:
        """Another step begins."""

    def end(self) -> list[File]:
        """End, and return what was found: a page, and a file for speedscope."""
        self._profiler.stop()
        speedscope = self._renderers.SpeedscopeRenderer()
        return [
            (".html", lambda: self._profiler.output_html().encode()),
            (".speedscope.json", lambda: self._profiler.output(speedscope).encode()),
        ]
