"""Runs that others logged: what they hold is read as scalars, and nothing is written to them.

A source knows one way of logging. It recognizes what it can read by content, of files whose names
may be of its kind, and returns series; ``ForeignReader`` shows these as a run. Sources are entry
points of ``stepwatch.sources``, ours and everybody's.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Protocol

from ...errors import RunNotFound, nearest
from ...plugins import registry
from ...store.local import local_path
from .reader import ForeignReader, Glance, glance_at
from .series import Logged

GROUP = "stepwatch.sources"
#: Folders of which a training writes many, each with all that the one before has.
_CHECKPOINT = "checkpoint-"
#: Folders of TensorBoard's that belong to the run above them.
_PARTS = ("train", "validation", "eval", "TRAIN", "EVAL")
#: A folder with more entries is no run; it holds data.
_MOST_ENTRIES = 20_000


class Source(Protocol):
    """One way of logging; what offers it is a module or an object."""

    def find(self, folder: Path, names: frozenset[str]) -> dict[str, Path]:
        """Return the runs that lie in a folder itself, by name; ``""`` for the only one.

        Args:
            folder: A folder, or the one that the file lies in which was named.
            names: What lies in it, or the name of that file.
        """

    def read(self, path: Path, name: str, *, brief: bool = False) -> Logged:
        """Return a run.

        Args:
            path: As ``find`` returned it.
            name: Of the run.
            brief: The last values are enough; more may come where that costs little.

        Raises:
            CorruptRun: It is not what it looked like.
        """


def open_foreign(url: str) -> ForeignReader | None:
    """Return a reader of the run of others that lies at a URL; ``None`` for none.

    Args:
        url: A local path, or its URL: a folder, a file, or either with ``#NAME`` where several
            runs lie in one file.

    Raises:
        RunNotFound: Several runs are there; the message names them.
    """
    chosen = _choose(url)
    return None if chosen is None else ForeignReader(_load(chosen[0]), *chosen)


def glance(url: str) -> Glance | None:
    """Return how the run of others stands that lies at a URL, without reading all of it."""
    chosen = _choose(url)
    if chosen is None:
        return None
    source, path, name = chosen
    return glance_at(_load(source).read(path, name, brief=True), path)


def _choose(url: str) -> tuple[str, Path, str] | None:
    path, name = _parts(url)
    found = find_foreign(path)
    if not found:
        return None
    if name is None and len(found) > 1:
        names = ", ".join(f"{path}#{one}" for one in list(found)[:3])
        raise RunNotFound(f"{len(found)} runs lie in {path}; name one, such as {names}")
    wanted = next(iter(found)) if name is None else name
    if wanted not in found:
        close = nearest(wanted, found)
        raise RunNotFound(f"no run {wanted!r} in {path}, which holds {len(found)}{close}")
    return (*found[wanted], wanted)


def find_foreign(path: Path) -> dict[str, tuple[str, Path]]:
    """Return the runs of others that lie at a path itself, by name, each with source and place."""
    if path.is_file():
        return _find(path.parent, frozenset([path.name]))
    try:
        names = frozenset(one.name for one in path.iterdir())
    except OSError:
        return {}
    if not names or len(names) > _MOST_ENTRIES:
        return {}
    return _find(path, names)


def _find(folder: Path, names: frozenset[str]) -> dict[str, tuple[str, Path]]:
    for source in registry.names(GROUP):
        if found := _load(source).find(folder, names):
            return {name: (source, path) for name, path in found.items()}
    return {}


def names_foreign(folder: str, folders: list[str], files: list[str]) -> dict[str, Path]:
    """Return the runs of others in a folder that a walk has listed: where each lies, by name.

    What is inside of them is no run by itself, and taken out of ``folders``.

    Args:
        folder: Its path.
        folders: Those in it.
        files: The files in it.
    """
    names = frozenset([*folders, *files])
    found = _find(Path(folder), names) if len(names) <= _MOST_ENTRIES else {}
    if not found:
        return {}
    kinds = {source for source, _ in found.values()}
    parts = _PARTS if "tensorboard" in kinds else ()
    folders[:] = [x for x in folders if not x.startswith(_CHECKPOINT) and x not in parts]
    if "mlflow" in kinds and "metrics" in folders:
        folders.clear()
    # one run of a folder is called by the folder; of several each by its file and its name
    return {name: path if name else Path(folder) for name, (_, path) in found.items()}


@cache  # a folder may hold thousands of runs
def _load(name: str) -> Source:
    return registry.load(GROUP, name)  # type: ignore[return-value]  # by the entry point


def _parts(url: str) -> tuple[Path, str | None]:
    """Return the path and the name after the ``#``, ``None`` where there is none."""
    text = local_path(url)
    if Path(text).exists():
        return Path(text), None
    path, mark, name = text.rpartition("#")
    return (Path(path), name) if mark else (Path(text), None)
