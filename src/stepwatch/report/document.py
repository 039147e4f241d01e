"""What a report says: plain values, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.finding import Finding

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Of the document of ``Report.to_dict``; it grows when a key changes its meaning or goes.
SCHEMA_VERSION = 1

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph.

    Args:
        text: What it says.
        tone: A severity for what needs attention, ``note`` for small print.
    """

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; numbers stand to the right.

    Args:
        columns: The headings.
        rows: As many cells each.
        title: What is listed.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure that is still numbers.

    Args:
        draw: The function of ``plots`` that draws it.
        data: What it is called with.
        numbers: What stands in JSON; ``data`` by default.
        narrow: Whether several of its kind fit beside each other.
    """

    draw: Callable[..., Figure]
    data: Mapping[str, Any]
    numbers: Mapping[str, Any] | None = None
    narrow: bool = False

    def figure(self) -> Figure:
        """Draw it.

        Raises:
            MissingDependency: Plotly is not installed.
        """
        return self.draw(**self.data)


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding that began a chain.

    Args:
        finding: What was found first.
        lines: What followed from it, and what was not checked, a line each.
        confirm: The command that would confirm it.
        findings: The names of all findings of its chain.
        is_headline: Whether the headline says what was found, and what to do.
    """

    finding: Finding
    lines: tuple[str, ...]
    confirm: str
    findings: tuple[str, ...]
    is_headline: bool = False


Block = Text | Table | Chart | Cause


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Args:
        key: Its name for machines, and for links to it.
        title: Its heading.
        blocks: What it shows.
        level: 1, or 2 for what is part of the section before.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    level: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """A report on a run, as plain values.

    Args:
        kind: ``run``, ``profiler`` or ``xgboost``.
        title: What it is about, such as the name of the run.
        headline: The answer in one sentence.
        tone: The worst severity of what was found, ``good``, or ``none`` or empty for neither.
        facts: Small print, a value for each label.
        sections: In the order in which they are read.
        lines: What is to be known beneath the headline: what to do, how the run ended.
        commands: What to run next.
        traceback: Where the exception was raised that ended the run.
    """

    kind: str
    title: str
    headline: str
    tone: str = ""
    facts: Mapping[str, Cell] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    lines: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    traceback: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data of JSON's types; numbers that are not finite become strings."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}


def plain(value: object) -> Any:
    """Return a value of a report as JSON's types.

    Example:
        >>> plain(Table(("a",), ((float("nan"),),)))
        {'type': 'table', 'columns': ['a'], 'rows': [['nan']], 'title': ''}
    """
    if isinstance(value, Chart):
        numbers = value.data if value.numbers is None else value.numbers
        return {"type": "chart", "chart": value.draw.__name__, **plain(numbers)}
    if isinstance(value, Finding):
        return value.to_dict()
    if is_dataclass(value):
        found = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        return {"type": type(value).__name__.lower(), **found} if _is_block(value) else found
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def _is_block(value: object) -> bool:
    return isinstance(value, Text | Table | Cause)
