"""Whether trials refresh, and arguments that come as texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from ..exceptions import SMDebugValueError


class _Refreshing(Protocol):
    dynamic_refresh: bool


_Trials = TypeVar("_Trials", bound="_Refreshing | Sequence[_Refreshing]")


@contextmanager
def no_refresh(trials: _Trials) -> Iterator[_Trials]:
    """Let one or several trials show what they showed last, without refreshing."""
    with _dynamic_refresh(trials, False):
        yield trials


@contextmanager
def refresh(trials: _Trials) -> Iterator[_Trials]:
    """Let one or several trials refresh whenever they are used."""
    with _dynamic_refresh(trials, True):
        yield trials


@contextmanager
def _dynamic_refresh(trials: _Refreshing | Sequence[_Refreshing], wanted: bool) -> Iterator[None]:
    several = list(trials) if isinstance(trials, Sequence) else [trials]
    before = [trial.dynamic_refresh for trial in several]
    for trial in several:
        trial.dynamic_refresh = wanted
    try:
        yield
    finally:
        for trial, was in zip(several, before, strict=True):
            trial.dynamic_refresh = was


def parse_list_from_str(arg: str | Sequence[str] | None, delimiter: str = ",") -> list[str]:
    """Return what a text lists; a list as it is, and nothing for nothing.

    Example:
        >>> parse_list_from_str("a,b"), parse_list_from_str(["a"]), parse_list_from_str(None)
        (['a', 'b'], ['a'], [])
    """
    if isinstance(arg, str):
        return arg.split(delimiter) if arg else []
    return list(arg or ())


def parse_bool(arg: object, default: bool) -> bool:
    """Return the truth value that a rule parameter gives; ``default`` for ``None``.

    Raises:
        SMDebugValueError: It is neither true nor false.

    Example:
        >>> parse_bool("False", True), parse_bool(None, True)
        (False, True)
    """
    if arg is None:
        return default
    known = {"true": True, "false": False, "1": True, "0": False}.get(str(arg).strip().lower())
    if known is None:
        raise SMDebugValueError(f"true or false is needed, got {arg!r}")
    return known


def numbered(tensor_name: str) -> int:
    """Return the number that a name of several ends in; 0 for one without."""
    match = re.search(r"_(\d+)$", tensor_name)
    return int(match[1]) if match else 0
