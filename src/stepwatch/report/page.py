"""A report as one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..plots.page import css_class, page_header
from ..plots.shell import places, shell
from .document import Block, Cause, Cell, Chart, Report, Section, Table, Text

# With fewer sections the page is short enough to do without.
_MOST_WITHOUT_CONTENTS = 3
#: More rows of a table are counted beneath it.
MOST_ROWS = 200
_MOST_ON_A_LINE = 28


def report_page(report: Report) -> str:
    """Return a report as an HTML document that needs nothing else.

    Returns:
        The document, to be written as UTF-8; the same report gives the same bytes.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    figures = [
        block.figure()
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Chart)
    ]
    drawn = places(figures)
    body = [
        page_header(report.title, report.headline, report.tone, report.facts),
        _contents(report.sections),
        *(_section(section, drawn) for section in report.sections),
    ]
    return shell(f"{report.title}: {report.kind} report", "\n".join(body), figures)


def _contents(sections: tuple[Section, ...]) -> str:
    if len(sections) <= _MOST_WITHOUT_CONTENTS:
        return ""
    links = (
        f'<li class="level-{section.level}"><a href="#{escape(section.key)}">'
        f"{escape(section.title)}</a></li>"
        for section in sections
    )
    return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'


def _section(section: Section, drawn: Iterator[str]) -> str:
    heading = "h2" if section.level == 1 else "h3"
    return f"""<section id="{escape(section.key)}">
<{heading}>{escape(section.title)}</{heading}>
{"".join(_rows(section.blocks, drawn))}
</section>"""


def _rows(blocks: tuple[Block, ...], drawn: Iterator[str]) -> Iterator[str]:
    """Yield the blocks from top to bottom; narrow charts in a row."""
    row: list[str] = []
    for block in blocks:
        if isinstance(block, Chart) and block.narrow:
            row.append(next(drawn))
            continue
        if row:
            yield _grid(row)
            row = []
        yield next(drawn) if isinstance(block, Chart) else _block(block)
    if row:
        yield _grid(row)


def _grid(figures: list[str]) -> str:
    return f'<div class="grid">{"".join(figures)}</div>'


def _block(block: Text | Table | Cause) -> str:
    if isinstance(block, Text):
        return f'<p class="text {_tone(block.tone)}">{escape(block.text)}</p>\n'
    return _table(block) if isinstance(block, Table) else _cause(block)


def _tone(tone: str) -> str:
    return tone if tone in ("note", "", "error", "warning", "info") else ""


def _cause(cause: Cause) -> str:
    finding = cause.finding
    tensor = f'<p class="tensor">{escape(finding.tensor)}</p>' if finding.tensor else ""
    remedy = f'<p class="advice">{escape(finding.remedy)}</p>' if finding.remedy else ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in cause.lines)
    return f"""<article class="card cause {css_class(finding.severity)}">
<p><span class="badge">{escape(finding.severity)}</span> <strong>{escape(finding.rule)}</strong>
<span class="where">{escape(finding.where())}</span></p>
<p class="said">{escape(finding.message)}</p>{tensor}{remedy}
{f'<ul class="lines">{lines}</ul>' if lines else ""}
{f'<p class="where">to confirm</p><pre>{escape(cause.confirm)}</pre>' if cause.confirm else ""}
</article>
"""


def _table(table: Table) -> str:
    numeric = [
        all(isinstance(row[place], int | float | None) for row in table.rows)
        for place in range(len(table.columns))
    ]
    kinds = [' class="number"' if one and table.rows else "" for one in numeric]
    head = "".join(
        f"<th{kind}>{escape(name)}</th>" for name, kind in zip(table.columns, kinds, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(
            f"<td{_long(cell) or kind}>{_cell(cell)}</td>"
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in table.rows[:MOST_ROWS]
    )
    title = f"<h4>{escape(table.title)}</h4>" if table.title else ""
    left = len(table.rows) - MOST_ROWS
    more = f'<p class="more">and {left:,} more</p>' if left > 0 else ""
    return f"""<div class="card listing">{title}<div class="wide"><table>
{f"<thead><tr>{head}</tr></thead>" if any(table.columns) else ""}
<tbody>
{rows}
</tbody>
</table></div>{more}</div>
"""


def _long(cell: Cell) -> str:
    return ' class="long"' if isinstance(cell, str) and len(cell) > _MOST_ON_A_LINE else ""


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool | str):
        return escape(str(cell))
    return f"{cell:,}" if isinstance(cell, int) else short(cell)


def short(number: float) -> str:
    """Return a number as people read it.

    Example:
        >>> short(1234567.0), short(0.1234567), short(float("nan")), short(2.5e-9)
        ('1,234,567', '0.1235', 'nan', '2.5e-09')
    """
    if number == int(number) if abs(number) < 1e15 else False:
        return f"{int(number):,}"
    return f"{number:,.1f}" if 1000 <= abs(number) < 1e15 else f"{number:.4g}"
