"""A report as a notebook whose figures are drawn already: for who goes on from its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from .document import Block, Cell, Chart, Report, Table, Text
from .page import MOST_ROWS, short

_FIGURE = "application/vnd.plotly.v1+json"
# What would be markup in Markdown.
_MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "|[]*_`#\n"})


def report_notebook(report: Report) -> str:
    """Return a report as a notebook of Jupyter's format 4.4, to be written as UTF-8.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    facts = "\n".join(f"- {_text(name)}: {_text(value)}" for name, value in report.facts.items())
    cells = [_words(f"# {_text(report.title)}\n\n{_text(report.headline)}\n\n{facts}")]
    for section in report.sections:
        cells.append(_words(f"{'#' * (section.level + 1)} {_text(section.title)}"))
        cells += [cell for block in section.blocks for cell in _cells(block)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(notebook, indent=1)


def _cells(block: Block) -> Iterator[dict[str, Any]]:
    if isinstance(block, Chart):
        data = {_FIGURE: json.loads(block.figure().to_json())}
        shown = {"output_type": "display_data", "data": data, "metadata": {}}
        ran: dict[str, Any] = {"execution_count": None, "metadata": {}, "source": ""}
        yield {"cell_type": "code", **ran, "outputs": [shown]}
    elif isinstance(block, Table):
        yield _words(_table(block))
    elif isinstance(block, Text):
        yield _words(_text(block.text))
    else:
        lines = "\n".join(f"- {_text(line)}" for line in (*block.lines, block.confirm) if line)
        yield _words(f"**{_text(block.finding.headline())}**\n\n{lines}")


def _table(table: Table) -> str:
    head = [_text(name) for name in table.columns]
    rows = [[_text(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join([*([f"**{_text(table.title)}**", ""] if table.title else []), *lines])


def _text(value: Cell) -> str:
    """Return a value as text in which nothing is markup."""
    if isinstance(value, float):
        return short(value)
    return "" if value is None else escape(str(value)).translate(_MARKS)


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}
