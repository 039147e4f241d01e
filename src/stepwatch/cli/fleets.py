"""What a verb does to each of many runs, here or on a Ray cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap, takewhile
from typing import Any, Generic, TypeVar

from ..errors import StepwatchError
from ..jobs.ray.cluster import spread_in_order
from ..judge.verdict import plural
from ..runtime.terminal import print_text
from .console import track_progress

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T]):
    """What became of one of many runs.

    Args:
        run: Its path or URL.
        value: What was returned for it; ``None`` where that could not be.
        error: Why it could not; empty where it was.
    """

    run: str
    value: T | None = None
    error: str = ""


def on_each(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], *, on_ray: bool
) -> Iterator[T]:
    """Yield what a function returns for each call, in their order.

    Args:
        function: One of a module, which nodes can import.
        calls: The arguments of each.
        on_ray: Make the calls on a Ray cluster.
    """
    return spread_in_order(function, calls, _warn) if on_ray else starmap(function, calls)


def attempt_each(
    function: Callable[..., T],
    calls: Sequence[tuple[Any, ...]],
    *,
    description: str,
    on_ray: bool,
) -> list[Attempt[T]]:
    """Make a call for each of many runs, and say on standard error of which that failed.

    Args:
        function: As for ``on_each``; its first argument is the run.
        calls: The arguments of each.
        description: What is done, for the progress.
        on_ray: As for ``on_each``.
    """
    tries = on_each(_attempt, [(function, *call) for call in calls], on_ray=on_ray)
    done = list(track_progress(tries, description=description, total=len(calls)))
    failed = [one for one in done if one.error]
    for one in failed:
        _warn(f"stepwatch: {one.run}: {one.error}")
    if failed:
        _warn(f"stepwatch: {len(failed)} of {plural(len(done), 'run')} failed")
    return done


def _attempt(function: Callable[..., T], run: str, *arguments: Any) -> Attempt[T]:
    try:
        return Attempt(run, function(run, *arguments))
    except StepwatchError as error:
        return Attempt(run, error=" ".join(str(error).split()))


def labels(runs: Sequence[str]) -> list[str]:
    """Return what each of several runs is called beneath the folder that holds them all.

    Example:
        >>> labels(["s3://b/runs/one/a", "s3://b/runs/two/a"])
        ['one/a', 'two/a']
    """
    parts = [run.split("/") for run in runs]
    folders = zip(*(one[:-1] for one in parts), strict=False)
    shared = sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, folders))
    return ["/".join(one[shared:]).replace("#", "/") for one in parts]


def _warn(line: str) -> None:
    print_text(line, file=sys.stderr)
