"""What is profiled of a training, and when."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ConfigError

#: What may look into Python, and the timers of the first.
PYTHON_PROFILERS = ("cprofile", "pyinstrument")
TIMERS = ("default", "total_time", "cpu_time", "off_cpu_time")
LEAST_INTERVAL_MS = 10


@dataclass(frozen=True, slots=True)
class Range:
    """When something is looked at: in some steps, or for some time.

    With nothing given it begins at once and lasts one step.

    Args:
        first: The first global step; ``None`` for the next one.
        steps: How many steps; 1 if neither these nor ``seconds`` are given.
        from_s: Seconds since the Unix epoch, instead of ``first``.
        seconds: How long, instead of ``steps``.

    Example:
        >>> Range(first=5).begins(4, 0.0), Range(first=5).begins(5, 0.0)
        (False, True)
    """

    first: int | None = None
    steps: int | None = None
    from_s: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.first < 0:
            raise ConfigError(f"the first step must be at least 0, got {self.first}")
        if self.steps is not None and self.steps < 1:
            raise ConfigError(f"it must be at least 1 step, got {self.steps}")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"a duration must be above 0 seconds, got {self.seconds}")
        by_step = self.first is not None or self.steps is not None
        if by_step and (self.from_s is not None or self.seconds is not None):
            raise ConfigError("a range is of steps or of time, not of both")

    def begins(self, step: int, now_s: float) -> bool:
        """Return whether it has begun before this step, and is not over.

        Args:
            step: The global step that is next.
            now_s: Seconds since the Unix epoch.
        """
        if self.first is not None:
            return self.first <= step < self.first + (self.steps or 1)
        begun = self.from_s is None or self.from_s <= now_s
        return begun and now_s < self._until_s(now_s)

    def is_over(self, step: int, now_s: float, since: int) -> bool:
        """Return whether it ends before this step.

        Args:
            step: The global step that is next.
            now_s: Seconds since the Unix epoch, later than when it began.
            since: The first step that was in it.
        """
        if self.first is not None:
            return step >= self.first + (self.steps or 1)
        if self.seconds is None:
            return step >= since + (self.steps or 1)
        return now_s >= self._until_s(now_s)

    def from_now(self, now_s: float) -> Range:
        """Return it with its beginning told, if it is of time."""
        if self.seconds is None or self.from_s is not None:
            return self
        return Range(from_s=now_s, seconds=self.seconds)

    def _until_s(self, now_s: float) -> float:
        if self.seconds is None:
            return now_s + 1.0  # it is of steps
        return (now_s if self.from_s is None else self.from_s) + self.seconds


@dataclass(frozen=True, slots=True)
class ProfilerConfig:
    """What is profiled of a training, and when.

    Args:
        interval_ms: How often the devices of each machine are read; 0 for never.
        detailed: When every operation is recorded; ``None`` for never.
        loader: When the work of a data loader's processes is; ``None`` for always.
        loader_names: A regular expression that finds itself in what is recorded of that.
        collectives: When the wait for other workers is; ``None`` for always.
        python: When the functions of Python are; ``None`` for never.
        python_profiler: By what: ``cprofile`` or ``pyinstrument``.
        timer: What ``cprofile`` counts: ``total_time``, ``cpu_time``, ``off_cpu_time``, or
            ``default`` for these in turn, a step each.
        open_failures: So many times in a row storing may fail before no more is tried.
    """

    interval_ms: int = 500
    detailed: Range | None = None
    loader: Range | None = None
    loader_names: str = ".*"
    collectives: Range | None = None
    python: Range | None = None
    python_profiler: str = "cprofile"
    timer: str = "total_time"
    open_failures: int = 50

    def __post_init__(self) -> None:
        if 0 < self.interval_ms < LEAST_INTERVAL_MS or self.interval_ms < 0:
            raise ConfigError(
                f"devices are read every {LEAST_INTERVAL_MS} ms or more, 0 for never; "
                f"got {self.interval_ms}"
            )
        if self.python_profiler not in PYTHON_PROFILERS:
            raise ConfigError(
                f"no Python profiler {self.python_profiler!r}; there are "
                f"{', '.join(PYTHON_PROFILERS)}"
            )
        if self.timer not in TIMERS:
            raise ConfigError(f"no timer {self.timer!r}; there are {', '.join(TIMERS)}")
