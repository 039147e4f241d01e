"""How people name a run: by its path or URL, its name in ``./runs``, ``latest``, ``-1`` or ``-2``.

A path that is there counts more than all else.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from ..config import runs_folder
from ..errors import RunNotFound, StepwatchError
from ..formats import run_format
from ..formats.manifest import END, RUN_KEY
from ..runtime.terminal import print_text
from ..store import open_store, scheme_of
from ..trial import Trial
from ..trial.run_listing import find_runs

#: What stands for the newest run.
LATEST = "latest"
_BACK = re.compile(r"-(\d+)")
_WILD = re.compile(r"[*?\[]")
_MOST_COMPLETED = 200
T = TypeVar("T")


def find_run(name: str, folder: Path | None = None) -> str:
    """Return the path or URL of a run.

    Args:
        name: Its path or URL; ``latest`` or ``-1`` for the newest in the folder, ``-2`` for the
            one before; or its path from the folder. What names none of these is returned as it is.
        folder: Where runs lie; ``./runs`` or ``$STEPWATCH_RUNS`` by default.

    Raises:
        RunNotFound: There are not so many runs.
    """
    if scheme_of(name) or Path(name.partition("#")[0]).exists():
        return name
    folder = runs_folder() if folder is None else folder
    match = _BACK.fullmatch(name)
    if name == LATEST or match:
        back = int(match[1]) if match else 1
        newest = [path for _, path in sorted(_times(folder), reverse=True)]
        if not 0 < back <= len(newest):
            there = f"there are {len(newest)} runs" if newest else "there is no run"
            raise RunNotFound(f"no run {name!r}: {there} in {folder}; see: stepwatch runs")
        return newest[back - 1]
    inside = folder / name
    return str(inside) if inside.is_dir() else name


def expand_runs(names: Sequence[str]) -> list[str]:
    """Return the runs that names stand for, each once, in their order.

    Args:
        names: Paths or URLs of runs, or of folders that runs lie beneath; or patterns of such,
            in which ``*`` is anything, ``?`` one character and ``[ab]`` one of some.

    Raises:
        RunNotFound: There is no run that a pattern fits.
    """
    return list(dict.fromkeys(run for name in names for run in _runs_of(name)))


def _runs_of(name: str) -> list[str]:
    """Return the runs of a name; itself where nothing lies beneath it."""
    place, pattern = split_pattern(name)
    if pattern:
        fitting = [run for run in _beneath(place) if fnmatchcase(run, pattern)]
        if not fitting:
            raise RunNotFound(f"no run fits {name!r}; see: stepwatch runs {place}")
        return fitting
    if _is_run(name):  # of its objects, which may be very many, none is listed
        return [name]
    return _beneath(name) or [name]


def _is_run(name: str) -> bool:
    """Return whether a name is that of a run, of ours or of others."""
    if not scheme_of(name) and not Path(name).is_dir():
        return True  # a file, or what is to be said of a name that is not there
    try:
        if run_format(open_store(name)) is None:
            Trial(name)
    except RunNotFound:
        return False
    except StepwatchError:  # to be said by who reads it
        return True
    return True


def split_pattern(name: str) -> tuple[str, str]:
    """Return the folder beneath which what fits a pattern lies, and the pattern.

    The pattern is empty where there is none, as in a path that is there.

    Example:
        >>> split_pattern("s3://bucket/runs/2026-*/a")
        ('s3://bucket/runs', 's3://bucket/runs/2026-*/a')
    """
    first = _WILD.search(name)
    if first is None or Path(name).exists():
        return name, ""
    return name[: first.start()].rpartition("/")[0] or ".", name


def _beneath(place: str) -> list[str]:
    """Return the paths or URLs of the runs in a folder."""
    return [run_path(place, run) for run in find_runs(place)]


def run_path(place: str, run: str) -> str:
    """Return the path or URL of a run by its path from a folder."""
    if run[:1] in ("", "#"):
        return f"{place}{run}"
    return run if place == "." else f"{place.rstrip('/')}/{run}"


def _times(folder: Path) -> Iterator[tuple[float, str]]:
    """Yield when each run of a folder began, and its path; nothing of it is read."""
    for path, folders, files in os.walk(folder):
        if RUN_KEY in files or END.strip("/") in folders:
            key = Path(path, RUN_KEY)
            yield (key if key.is_file() else Path(path)).stat().st_mtime, path
            folders.clear()


class RunName(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """An argument that names a run, as ``find_run`` has it."""

    name = "run"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return find_run(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the runs in ``./runs``, the newest first, then files and folders.

        By their paths; what begins no path is completed to their names in that folder.
        """
        del ctx, param
        folder = runs_folder()
        newest = sorted(_times(folder), reverse=True)[:_MOST_COMPLETED]
        paths = [path for _, path in newest]
        names = [os.path.relpath(path, folder) for path in paths]
        for known in ([LATEST, *paths], names):
            if found := [CompletionItem(one) for one in known if one.startswith(incomplete)]:
                return found
        return [CompletionItem(incomplete, type="file")]


class RunVerb(click.Command):
    """A verb about runs, of which ``-1`` is the newest: no option of ours is a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._with_names(args))

    def _with_names(self, args: Sequence[str]) -> list[str]:
        """Return the arguments with the names of runs in place of numbers, but for values."""
        options = [one for one in self.params if isinstance(one, click.Option)]
        takes = {
            name
            for one in options
            if not (one.is_flag or one.count or isinstance(one.type, RunName))
            for name in one.opts
        }
        found: list[str] = []
        for number, one in enumerate(args):
            is_value = number > 0 and args[number - 1] in takes
            found.append(find_run(one) if _BACK.fullmatch(one) and not is_value else one)
        return found


RUN = RunName()


def _newest(_: click.Context, __: click.Parameter, given: T) -> T | str | tuple[str, ...]:
    """Return the runs that were named; else the newest, and say on standard error which it is."""
    if given:
        return given
    run = find_run(LATEST)
    print_text(f"stepwatch: the newest run, {run}", file=sys.stderr)
    return run if given is None else (run,)


#: Arguments of verbs that only look: without a run they look at the newest.
run_or_newest = click.argument("run", type=RUN, required=False, callback=_newest)
runs_or_newest = click.argument("runs", type=RUN, nargs=-1, callback=_newest)
