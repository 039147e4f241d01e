"""The names of tensors as a tree, one level at a time, and what is found among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

_LEVEL = re.compile(r"[^/.]*[/.]?")


class Entry(TypedDict):
    """A tensor, or what the names of several begin with.

    ``label`` is what to show, ``path`` the name or its beginning, ``count`` how many tensors it
    stands for, and ``leaf`` whether it is one.
    """

    label: str
    path: str
    count: int
    leaf: bool


class Level(TypedDict):
    """Entries, and how many more there are."""

    entries: list[Entry]
    more: int


def level(names: Sequence[str], under: str, *, points: int) -> Level:
    """Return what follows a beginning, cut at the next ``/`` or ``.``, in the order of names.

    Args:
        names: Of all tensors.
        under: What the names begin with; ``""`` for the first level.
        points: How many entries there may be.

    Example:
        >>> found = level(["loss", "gradient/a.w", "gradient/a.b"], "", points=9)
        >>> [one["label"] for one in found["entries"]]
        ['loss', 'gradient/']
    """
    held: dict[str, list[str]] = {}
    for name in names:
        if name.startswith(under):
            held.setdefault(under + _LEVEL.match(name, len(under))[0], []).append(name)  # type: ignore[index]
    entries = [_entry(path, inside, under) for path, inside in held.items()]
    return {"entries": entries[:points], "more": max(0, len(entries) - points)}


def search(names: Sequence[str], text: str, *, points: int) -> Level:
    """Return the tensors in whose names every word is found, in the order of names.

    Args:
        names: Of all tensors.
        text: Words; upper and lower case are one.
        points: How many entries there may be.
    """
    words = text.lower().split()
    found = [name for name in names if all(word in name.lower() for word in words)]
    entries = [_entry(name, [name], "") for name in found[:points]]
    return {"entries": entries, "more": len(found) - len(entries)}


def _entry(path: str, inside: list[str], under: str) -> Entry:
    if len(inside) == 1:
        path = inside[0]
    return {
        "label": path[len(under) :],
        "path": path,
        "count": len(inside),
        "leaf": len(inside) == 1,
    }
