"""Small functions under the names that notebooks import."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..exceptions import SMDebugTypeError
from . import environment

__all__ = [
    "ensure_dir",
    "flatten",
    "get_region",
    "is_s3",
    "load_json_as_dict",
    "make_numpy_array",
    "match_inc",
    "merge_two_dicts",
    "split",
    "step_in_range",
]


def ensure_dir(file_path: str, is_file: bool = True) -> None:
    """Make the folder of a file, or the folder itself, unless it is there."""
    folder = os.path.dirname(file_path) if is_file else file_path
    if folder:
        os.makedirs(folder, exist_ok=True)


def flatten(lis: Iterable[Any]) -> list[Any]:
    """Return what nested lists, tuples and sets hold, in order.

    Example:
        >>> flatten([1, [2, (3,)]])
        [1, 2, 3]
    """
    found: list[Any] = []
    for item in lis:
        if isinstance(item, list | tuple | set):
            found.extend(flatten(item))
        else:
            found.append(item)
    return found


def get_region() -> str | None:
    """Return the AWS region of the environment; ``None`` if it names none."""
    return environment.text(environment.REGION)


def is_s3(path: str) -> tuple[bool, str | None, str | None]:
    """Return whether a path lies on S3, and then its bucket and its prefix.

    Example:
        >>> is_s3("s3://bucket/a/b"), is_s3("/tmp/run")
        ((True, 'bucket', 'a/b'), (False, None, None))
    """
    match = re.fullmatch(r"[sS]3://([^/]+)/*(.*)", path)
    return (True, match[1], match[2]) if match else (False, None, None)


def load_json_as_dict(s: str | None) -> Any:
    """Return what a text of JSON holds; ``None`` for none."""
    return None if s is None else json.loads(s)


def make_numpy_array(x: object) -> npt.NDArray[Any]:
    """Return an array of an array, a number, a text, a list or a tuple; single ones get ``(1,)``.

    A dict becomes an array of objects without an axis, which no hook saves.

    Raises:
        SMDebugTypeError: Something else.
    """
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, np.generic | bool | int | float | complex | str):
        return np.array([x])
    if isinstance(x, list | tuple):
        return np.asarray(x)
    if isinstance(x, dict):
        return np.array(x)
    raise SMDebugTypeError(f"an array, a number, a text or a list is needed, got {type(x)}")


def match_inc(tname: str, include: Iterable[str]) -> bool:
    """Return whether one of some regular expressions finds something in a name."""
    return any(re.search(pattern, tname) for pattern in include)


def merge_two_dicts(x: Mapping[Any, Any] | None, y: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return both; what the second says counts."""
    return {**(x or {}), **(y or {})}


def split(comma_separated_string: str) -> list[str]:
    """Return what stands between commas, without the space around it.

    Example:
        >>> split("a, b,c")
        ['a', 'b', 'c']
    """
    return [part.strip() for part in comma_separated_string.split(",")]


def step_in_range(range_steps: tuple[int | None, int | None] | None, step: int) -> bool:
    """Return whether a step lies in ``(first, end)``, of which the end is out and either open."""
    first, end = range_steps or (None, None)
    return (first is None or step >= int(first)) and (end is None or step < int(end))
