"""What is profiled of a training, and when, as SageMaker's profiler configuration says it.

Each metric has a range of its own, written as a text that is nearly JSON. An invalid one is warned
of, and that metric is off; the others, and the training, go on. No text is evaluated: what is no
JSON may only be a Python literal.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import ConfigError, ConfigNotFound
from .json_settings import JsonSettings
from .variables import JOB_VARIABLE, environment

#: The profilers of Python, and the timers of the first.
PYTHON_PROFILERS = ("cprofile", "pyinstrument")
TIMERS = ("default", "total_time", "cpu_time", "off_cpu_time")
LEAST_INTERVAL_MS = 10


@dataclass(frozen=True, slots=True)
class Range:
    """When something is profiled: in some steps, or for some time.

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
        """Return it with its beginning set, if it is of time."""
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

    @property
    def has_ranges(self) -> bool:
        """Whether anything is profiled in some steps only."""
        return any((self.detailed, self.loader, self.collectives, self.python))

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


CONFIG_VARIABLE = "SMPROFILER_CONFIG_PATH"
CONFIG_PATH = "/opt/ml/input/config/profilerconfig.json"
_METRIC = "ProfilingConfig"
# The default range of each metric: far enough apart that costs never add up.
_DEFAULTS = {
    "detailed": Range(first=5, steps=1),
    "dataloader": Range(first=7, steps=1),
    "python": Range(first=9, steps=3),
    "horovod": Range(first=13, steps=1),
    "smdataparallel": Range(first=15, steps=1),
}
_TIMERS = {"off_cpu": "off_cpu_time", "cpu": "cpu_time", "total": "total_time"}

log = logging.getLogger("stepwatch")


def find_profiler_config(variables: Mapping[str, str] | None = None) -> str | None:
    """Return the file that the environment names, on SageMaker by default SageMaker's path."""
    variables = environment() if variables is None else variables
    default = CONFIG_PATH if variables.get(JOB_VARIABLE) else None
    file = variables.get(CONFIG_VARIABLE) or default
    return file if file is not None and Path(file).is_file() else None


def read_profiler_config(path: str | os.PathLike[str]) -> ProfilerConfig | None:
    """Read a profiler configuration; ``None`` if it switches profiling off.

    Raises:
        ConfigNotFound: There is no such file.
        ConfigError: It is no JSON object.
    """
    try:
        data = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise ConfigNotFound(
            f"no profiler configuration at {path}; give the path of a JSON file, or set "
            f"${CONFIG_VARIABLE}"
        ) from None
    return parse_profiler_config(data, f"profiler configuration {path}")


def parse_profiler_config(
    data: bytes,
    where: str,
    before: ProfilerConfig = ProfilerConfig(),
) -> ProfilerConfig | None:
    """Return what a profiler configuration says; ``None`` if it switches profiling off.

    Args:
        data: The JSON.
        where: Where it is, for messages.
        before: The configuration where it says nothing.

    Raises:
        ConfigError: It is no JSON object.

    Example:
        >>> parse_profiler_config(b'{"ProfilingIntervalInMilliseconds": 100}', "doc").interval_ms
        100
    """
    try:
        document = _lower(JsonSettings(json.loads(data), where))
    except ValueError as error:
        raise ConfigError(f"{where} is no JSON: {error}") from None
    if "disableprofiler" in document and document.flag("disableprofiler"):
        return None
    config = before
    if "profilingintervalinmilliseconds" in document:
        interval = document.whole("profilingintervalinmilliseconds")
        config = replace(config, interval_ms=interval)
    given = _lower(JsonSettings(document.values.get("profilingparameters"), where))
    if "fileopenfailthreshold" in given:
        config = replace(config, open_failures=given.whole("fileopenfailthreshold"))
    for metric, apply in _METRICS.items():
        if f"{metric}{_METRIC}".lower() in given:
            config = _applied(config, metric, apply, given)
    if "cpuprofilingduration" in given:  # of the profiler that records all of a training's start
        seconds = given.whole("cpuprofilingduration")
        config = replace(config, python=Range(seconds=seconds), python_profiler="pyinstrument")
    return config


Apply = Callable[[ProfilerConfig, Range, JsonSettings], ProfilerConfig]


def _applied(
    config: ProfilerConfig, metric: str, apply: Apply, parameters: JsonSettings
) -> ProfilerConfig:
    """Return the configuration with one metric in it, or without it if that is invalid."""
    key = f"{metric}{_METRIC}".lower()
    where = f"{parameters.where}: {metric}"
    try:
        given = _lower(JsonSettings(_literal(parameters.values[key], where), where))
        return apply(config, _range(given, _DEFAULTS[metric]), given)
    except ConfigError as error:
        log.warning("%s is not profiled: %s", where, error)
        return config


def _literal(value: object, where: str) -> object:
    """Return what a text says that is JSON, or a literal of Python; others as they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ConfigError(f"{where} must be a JSON object, got {value!r}") from None


def _range(given: JsonSettings, default: Range) -> Range:
    """Return the range that is given, or the default if there is none."""
    found: dict[str, float] = {}
    for key, name in (("startstep", "first"), ("numsteps", "steps")):
        if given.values.get(key) is not None:
            found[name] = given.whole(key)
    for key, name in (
        ("starttimeinsecsinceepoch", "from_s"),
        ("durationinseconds", "seconds"),
        ("duration", "seconds"),
    ):
        if given.values.get(key) is not None:
            found[name] = _seconds(given, key)
    return Range(**found) if found else default  # type: ignore[arg-type]  # whole ones are


def _seconds(given: JsonSettings, key: str) -> float:
    value = given.values[key]
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise ConfigError(f"{given.where}: {key} must be a number, got {value!r}")


def _field(name: str) -> Apply:
    return lambda config, range_, _: replace(config, **{name: range_})  # type: ignore[arg-type]


def _dataloader(config: ProfilerConfig, range_: Range, given: JsonSettings) -> ProfilerConfig:
    names = given.text("metricsregex") if "metricsregex" in given else ".*"
    try:
        re.compile(names)
    except re.error as error:
        raise ConfigError(
            f"{given.where}: MetricsRegex {names!r} does not compile: {error}"
        ) from None
    return replace(config, loader=range_, loader_names=names)


def _python(config: ProfilerConfig, range_: Range, given: JsonSettings) -> ProfilerConfig:
    profiler = given.text("profilername").lower() if "profilername" in given else "cprofile"
    timer = given.text("cprofiletimer").lower() if "cprofiletimer" in given else "total_time"
    timer = _TIMERS.get(timer, timer)
    return replace(config, python=range_, python_profiler=profiler, timer=timer)


_METRICS: dict[str, Apply] = {
    "detailed": _field("detailed"),
    "dataloader": _dataloader,
    "python": _python,
    "horovod": _field("collectives"),
    "smdataparallel": _field("collectives"),
}


def _lower(parameters: JsonSettings) -> JsonSettings:
    """Return settings whose keys, and only those, are lower case: people write them in any."""
    values = {str(key).lower(): value for key, value in parameters.values.items()}
    return JsonSettings(values, parameters.where)
