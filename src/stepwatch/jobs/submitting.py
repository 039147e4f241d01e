"""Jobs begin, and change what they do: for whoever holds one, and for who only knows of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..config import environment, jobs_at_once
from ..errors import ConfigError
from .contract import write_file
from .place import Place
from .processes import start
from .records import Records
from .spec import JobSpec, RuleSpec


def submit(records: Records, spec: JobSpec) -> None:
    """Begin a job, in processes that outlive this one.

    Raises:
        JobExists: The name is taken.
        ConfigError: How many jobs may be under way cannot be meant.
    """
    jobs_at_once()  # what is wrong with it is said now
    records.add(spec)
    Place(records.home, spec.name).make()
    begin(records, spec.name)


def begin(records: Records, name: str) -> None:
    """Start the process that carries out a job which is noted."""
    program = [sys.executable, "-m", "stepwatch.jobs.runner"]
    log = Place(records.home, name).runner_log
    start([*program, str(records.home), name], log, environment(), outlives=True)


def update(
    records: Records,
    name: str,
    profiler: Mapping[str, Any] | None,
    rules: Sequence[RuleSpec] = (),
    request: Mapping[str, Any] | None = None,
) -> None:
    """Change what is profiled and judged of a job while it goes on.

    Args:
        records: Where it is noted.
        name: Of the job.
        profiler: Takes the place of its profiler configuration; ``None`` to keep that.
        rules: Judge it, too.
        request: Takes the place of what its client asked for; ``None`` to keep that.

    Raises:
        JobNotFound: There is no such job.
        ConfigError: It has ended, or two rules would have one name.
    """
    status = records.get(name).status
    if status != "InProgress":
        raise ConfigError(f"the job {name!r} is {status}, and cannot be changed any more")

    def changed(spec: JobSpec) -> JobSpec:
        return replace(
            spec,
            profiler=spec.profiler if profiler is None else profiler,
            rules=(*spec.rules, *rules),
            request=spec.request if request is None else request,
        )

    spec = records.change(name, changed)
    if spec.profiler is not None:
        write_file(Place(records.home, name), "profilerconfig", dict(spec.profiler))
