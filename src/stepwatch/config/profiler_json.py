"""SageMaker's profiler configuration: the JSON file that says what is profiled, and when.

Each metric has a range of its own, written as a text that is nearly JSON. What cannot be meant is
warned of, and that metric is off; the others, and the training, go on. No text is evaluated: what
is no JSON may only be a Python literal.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import ConfigError, ConfigNotFound
from ..profiler_config import ProfilerConfig, Range
from .parameters import Parameters
from .variables import JOB_VARIABLE, environment

CONFIG_VARIABLE = "SMPROFILER_CONFIG_PATH"
CONFIG_PATH = "/opt/ml/input/config/profilerconfig.json"
_METRIC = "ProfilingConfig"
# What a metric is looked at by if it does not say: far enough apart that costs never add up.
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
    """Return the file that was named for this process without its doing, if there is one."""
    variables = environment() if variables is None else variables
    place = CONFIG_PATH if variables.get(JOB_VARIABLE) else None
    file = variables.get(CONFIG_VARIABLE) or place
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
    before: ProfilerConfig = ProfilerConfig(),  # noqa: B008  it is frozen
) -> ProfilerConfig | None:
    """Return what a profiler configuration says; ``None`` if it switches profiling off.

    Args:
        data: The JSON.
        where: Whose it is, for messages.
        before: What counts where it says nothing.

    Raises:
        ConfigError: It is no JSON object.

    Example:
        >>> parse_profiler_config(b'{"ProfilingIntervalInMilliseconds": 100}', "doc").interval_ms
        100
    """
    try:
        document = _lower(Parameters(json.loads(data), where))
    except ValueError as error:
        raise ConfigError(f"{where} is no JSON: {error}") from None
    if "disableprofiler" in document and document.flag("disableprofiler"):
        return None
    config = before
    if "profilingintervalinmilliseconds" in document:
        interval = document.whole("profilingintervalinmilliseconds")
        config = replace(config, interval_ms=interval)
    asked = _lower(Parameters(document.values.get("profilingparameters"), where))
    if "fileopenfailthreshold" in asked:
        config = replace(config, open_failures=asked.whole("fileopenfailthreshold"))
    for metric, apply in _METRICS.items():
        if f"{metric}{_METRIC}".lower() in asked:
            config = _applied(config, metric, apply, asked)
    if "cpuprofilingduration" in asked:  # of the profiler that records all of a training's start
        seconds = asked.whole("cpuprofilingduration")
        config = replace(config, python=Range(seconds=seconds), python_profiler="pyinstrument")
    return config


Apply = Callable[[ProfilerConfig, Range, Parameters], ProfilerConfig]


def _applied(
    config: ProfilerConfig, metric: str, apply: Apply, asked: Parameters
) -> ProfilerConfig:
    """Return the configuration with one metric in it, or without it if it cannot be meant."""
    key = f"{metric}{_METRIC}".lower()
    where = f"{asked.where}: {metric}"
    try:
        given = _lower(Parameters(_literal(asked.values[key], where), where))
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


def _range(given: Parameters, default: Range) -> Range:
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


def _seconds(given: Parameters, key: str) -> float:
    value = given.values[key]
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise ConfigError(f"{given.where}: {key} must be a number, got {value!r}")


def _detailed(config: ProfilerConfig, range_: Range, given: Parameters) -> ProfilerConfig:
    del given
    return replace(config, detailed=range_)


def _dataloader(config: ProfilerConfig, range_: Range, given: Parameters) -> ProfilerConfig:
    names = given.text("metricsregex") if "metricsregex" in given else ".*"
    try:
        re.compile(names)
    except re.error as error:
        raise ConfigError(
            f"{given.where}: MetricsRegex {names!r} does not compile: {error}"
        ) from None
    return replace(config, loader=range_, loader_names=names)


def _python(config: ProfilerConfig, range_: Range, given: Parameters) -> ProfilerConfig:
    profiler = given.text("profilername").lower() if "profilername" in given else "cprofile"
    timer = given.text("cprofiletimer").lower() if "cprofiletimer" in given else "total_time"
    timer = _TIMERS.get(timer, timer)
    return replace(config, python=range_, python_profiler=profiler, timer=timer)


def _collectives(config: ProfilerConfig, range_: Range, given: Parameters) -> ProfilerConfig:
    del given
    return replace(config, collectives=range_)


_METRICS: dict[str, Apply] = {
    "detailed": _detailed,
    "dataloader": _dataloader,
    "python": _python,
    "horovod": _collectives,
    "smdataparallel": _collectives,
}


def _lower(parameters: Parameters) -> Parameters:
    """Return settings whose keys, and only those, are lower case: people write them in any."""
    values = {str(key).lower(): value for key, value in parameters.values.items()}
    return Parameters(values, parameters.where)
