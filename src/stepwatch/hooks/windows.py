"""Windows of steps that are profiled in detail: when they open, close, and where they are stored.

Here are those of Python's functions, by cProfile or by pyinstrument.
"""

from __future__ import annotations

import cProfile
import logging
import marshal
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any, Protocol

from ..capture.profiling import Profiler, RangeTrigger
from ..config.profiler_config import ProfilerConfig
from ..formats.profile.parts import python_key, trace_key
from ..formats.profile.tables import Span
from ..plugins.registry import require

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
        del step
        self._timer = next(self._timers)
        self._profile = cProfile.Profile(_TIMERS[self._timer])
        self._profile.enable()

    def next(self, step: int) -> None:
        if self._rotates:
            self._take()
            self.begin(step)

    def end(self) -> list[File]:
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


_log = logging.getLogger("stepwatch")
#: What records every operation holds it all in memory, and grows by gigabytes.
MOST_STEPS = 10


class Window(Protocol):
    """Looks at some steps in detail, on the training thread."""

    name: str

    def begin(self, step: int) -> None:
        """Begin before a step."""

    def next(self, step: int) -> None:
        """Another step begins."""

    def end(self) -> Sequence[File]:
        """End, and return what was found: it is asked for in the background."""


class _Open:
    """A window that is open."""

    def __init__(self, window: Window, key: Callable[..., str], first: int, ticks: int) -> None:
        self.window, self.key, self.first, self.ticks = window, key, first, ticks


class Windows:
    """Opens and closes windows as the configuration says.

    Args:
        profiler: Says what is wanted, and stores what was found.
        rank: Which process this is.
        trace: Makes what records every operation of the framework.
    """

    def __init__(self, profiler: Profiler, rank: int, trace: Callable[[], Window]) -> None:
        self._profiler, self._rank, self._trace = profiler, rank, trace
        self._config: ProfilerConfig | None = None
        self._step = -1
        self._dues: dict[str, RangeTrigger] = {}
        self._open: dict[str, _Open] = {}

    def at(self, step: int) -> None:
        """A model begins to run in a global step; on most calls nothing is done."""
        if step == self._step:
            return
        self._step = step
        config = self._profiler.config
        if config is not self._config:
            self._configure(config)
        for kind, due in self._dues.items():
            wanted = due.at(step) and not self._is_full(kind, step)
            try:
                self._turn(kind, step, wanted=wanted)
            except Exception as error:  # noqa: BLE001  whatever a profiler does, training goes on
                self._give_up(kind, error)

    def close(self) -> None:
        """Close what is open: nothing runs any more, or nothing is observed."""
        for kind in list(self._open):
            try:
                self._end(kind, self._step)
            except Exception as error:  # noqa: BLE001  as above
                self._give_up(kind, error)

    def _configure(self, config: ProfilerConfig | None) -> None:
        """Take another configuration; a range that is in both, and not over, goes on."""
        self._config = config
        wanted = {"trace": config.detailed, "python": config.python} if config else {}
        before = {kind: due for kind, due in self._dues.items() if not due.is_over}
        self._dues = {
            kind: before[kind]
            if kind in before and before[kind].requested == range_
            else RangeTrigger(range_)
            for kind, range_ in wanted.items()
            if range_ is not None
        }
        for kind in [kind for kind in self._open if kind not in self._dues]:
            self._end(kind, self._step - 1)

    def _turn(self, kind: str, step: int, *, wanted: bool) -> None:
        found = self._open.get(kind)
        if found is None and wanted:
            window = self._trace() if kind == "trace" else self._python()
            key = trace_key if kind == "trace" else python_key
            window.begin(step)
            self._open[kind] = _Open(window, key, step, self._profiler.spans.clock.ticks())
        elif found is not None and wanted:
            found.window.next(step)
        elif found is not None:
            self._end(kind, step - 1)

    def _end(self, kind: str, last: int) -> None:
        found = self._open.pop(kind)
        files = found.window.end()
        ticks = self._profiler.spans.clock.ticks()
        self._profiler.spans.add(
            Span(found.ticks, ticks - found.ticks, "window", found.window.name)
        )
        for suffix, data in files:
            key = found.key(found.first, last, self._rank, suffix)
            self._profiler.later(partial(self._store, key, data))

    def _store(self, key: str, data: Callable[[], bytes]) -> None:
        self._profiler.put(key, data())

    def _python(self) -> Window:
        config = self._config or ProfilerConfig()
        if config.python_profiler == "pyinstrument":
            return PyinstrumentWindow()
        return CProfileWindow(config.timer)

    def _is_full(self, kind: str, step: int) -> bool:
        found = self._open.get(kind)
        full = kind == "trace" and found is not None and step - found.first >= MOST_STEPS
        if full:
            _log.warning("the trace of steps is closed after %d of them", MOST_STEPS)
            self._dues[kind].stop()
        return full

    def _give_up(self, kind: str, error: Exception) -> None:
        self._open.pop(kind, None)
        self._dues[kind] = RangeTrigger(None)
        _log.warning("no %s window is recorded: %s; training goes on", kind, error)
