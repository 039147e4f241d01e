"""Training processes that we launch, the rules beside them, and what became of both.

A job is described by values (``spec``), noted in one file of records (``records``) and carried
out by a process of its own (``runner``), which outlives the one that submitted it. If it dies,
whoever asks next has another one take over. Whoever asks reads the records; nobody else changes
them.

The public names are loaded when they are first used: of runners that wait many may live.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .job import Job as Job
    from .job import attach as attach
    from .job import list_jobs as list_jobs
    from .spec import JobSpec as JobSpec
    from .spec import RuleSpec as RuleSpec

_HOMES = {"Job": "job", "JobSpec": "spec", "RuleSpec": "spec", "attach": "job", "list_jobs": "job"}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'stepwatch.jobs' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
