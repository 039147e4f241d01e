"""What ``stepwatch run`` is told of profiling."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ..capture.profiling import Profiler
from ..config import find_profiler_config, read_profiler_config
from ..errors import ConfigError
from ..profiler_config import ProfilerConfig, Range

Command = Callable[..., Any]
_OPTIONS = (
    click.option(
        "--profile/--no-profile",
        default=None,
        help="Tell where the time goes and what the machine does; done by default, but not in "
        "smdebug's format.",
    ),
    click.option(
        "--profile-every",
        "interval_ms",
        metavar="MS",
        type=click.IntRange(min=10),
        help="Read the machine's devices this often; every 500 ms by default.",
    ),
    click.option(
        "--trace",
        metavar="STEPS",
        default="",
        help="Record every operation of these global steps, such as 100 or 100-102, for Perfetto.",
    ),
    click.option(
        "--profiler-config",
        "profiler_file",
        metavar="FILE",
        help="What to profile, as a profiler configuration of SageMaker Debugger, which may change "
        "meanwhile; on SageMaker, or if $SMPROFILER_CONFIG_PATH is set, its file by default.",
    ),
)


def profiling_options(command: Command) -> Command:
    """Give a command the options that ``make_profiler`` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def make_profiler(
    *,
    by_default: bool,
    profile: bool | None,
    interval_ms: int | None,
    trace: str,
    profiler_file: str | None,
) -> Profiler | None:
    """Return what was asked for; ``None`` for nothing.

    Raises:
        ConfigError: What cannot be meant was asked for.
    """
    if profile is False:
        return None
    file = profiler_file or find_profiler_config()
    asked = profile or interval_ms is not None or trace or file is not None
    if not (asked or by_default):
        return None
    config = ProfilerConfig() if file is None else read_profiler_config(file)
    if config is not None and interval_ms is not None:
        config = replace(config, interval_ms=interval_ms)
    if config is not None and trace:
        config = replace(config, detailed=_steps(trace))
    return Profiler(config, file)


def _steps(text: str) -> Range:
    """Return the steps that a text such as ``100-102`` names.

    Example:
        >>> _steps("100-102").first, _steps("100-102").steps, _steps("7").steps
        (100, 3, 1)
    """
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise ConfigError(f"--trace {text!r} is no step and no range of them, such as 100-102")
    return Range(first=first, steps=last - first + 1)
