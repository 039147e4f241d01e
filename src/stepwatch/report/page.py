"""A report as one self-contained HTML page, or as a notebook whose figures are drawn already.

The figures of a page are drawn already, too: it holds no script, and fetches nothing, which a
content security policy in it forbids. Whatever comes from a run is escaped as text, because names
of tensors and messages of plug-in rules are not ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from ..model.finding import Finding
from ..model.subjects import shown_name
from ..plots.svg import svg
from ..plots.theme import by_severity, scheme_style
from .document import Block, Cause, Cell, Chart, Report, Section, Table, Text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


STYLE = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 15px/1.5 var(--font); -webkit-font-smoothing: antialiased; overflow-wrap: anywhere; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
p { margin: 0; }
.brand { color: var(--muted); font-size: 13px; letter-spacing: .04em; }
h1 { margin: 2px 0 14px; font-size: 28px; line-height: 1.25; font-weight: 650;
  letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { margin: 40px 0 0; font-size: 20px; line-height: 1.3; font-weight: 620;
  letter-spacing: -.01em; }
h3 { margin: 32px 0 0; font-size: 16px; font-weight: 600; }
h4, figcaption .title { margin: 0; font-size: 14px; font-weight: 600; overflow-wrap: anywhere; }
h4 { padding: 12px 20px 8px; }
.headline { display: block; padding: 12px 16px; border-radius: 6px; font-size: 17px;
  background: color-mix(in srgb, var(--tone) 9%, var(--paper));
  border-left: 4px solid var(--tone); overflow-wrap: anywhere; }
.error { --tone: var(--error); } .warning { --tone: var(--warning); }
.info, .none { --tone: var(--info); } .good { --tone: #2f8f5b; }
.beneath { padding: 8px 20px 0; } .beneath p { margin: 0 0 4px; }
dl { display: flex; flex-wrap: wrap; gap: 8px 36px; margin: 18px 0 0; }
dt { color: var(--muted); font-size: 12px; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
figure, .card { margin: 16px 0 0; background: var(--paper);
  border: 1px solid var(--grid); border-radius: 8px; overflow: hidden; }
figure { padding: 0 4px 4px; min-width: 0; }
[id] { scroll-margin-top: 8px; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { padding: 12px 16px 0; }
.subtitle { color: var(--muted); font-size: 12px; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr));
  gap: 0 16px; }
.wide { overflow-x: auto; } .wide td, .wide th { overflow-wrap: normal; }
.wide td.long { min-width: 24ch; overflow-wrap: anywhere; }
.text { margin: 12px 0 0; max-width: 76ch; overflow-wrap: anywhere; }
.text.error, .text.warning { padding-left: 12px; border-left: 3px solid var(--tone); }
.note { color: var(--muted); font-size: 13px; }
nav ul { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 20px 0 0; padding: 0;
  list-style: none; font-size: 13px; }
nav .level-2 { display: none; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.cause { padding: 14px 18px 16px; border-left: 4px solid var(--tone); }
.cause .message { margin: 6px 0 2px; font-size: 16px; overflow-wrap: anywhere; }
.cause .advice { margin: 8px 0 0; }
.where { color: var(--muted); font-size: 13px; }
.lines { margin: 8px 0; padding: 0 0 0 18px; color: var(--muted); font-size: 13px; }
pre { margin: 2px 0 0; padding: 8px 12px; border-radius: 6px; background: var(--ground);
  font: 12.5px/1.6 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
.listing { width: fit-content; min-width: min(100%, 440px); max-width: 100%; }
th { text-align: left; font-weight: 500; font-size: 12px; color: var(--muted); }
th, td { padding: 10px 12px; vertical-align: top; border-top: 1px solid var(--grid); }
thead th { border-top: 0; padding: 4px 12px; }
.wide tbody:first-child tr:first-child td { border-top: 0; }
th:first-child, td:first-child { padding-left: 20px; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { display: inline-block; padding: 1px 8px; border-radius: 4px; font-size: 12px;
  white-space: nowrap; color: var(--tone);
  background: color-mix(in srgb, var(--tone) 14%, transparent); }
.tensor { font: 12.5px/1.6 var(--mono); overflow-wrap: anywhere; color: var(--muted); }
.more { padding: 10px 20px 14px; color: var(--muted); }
/* Where there is no room a figure keeps a size at which it can be read, and is moved sideways. */
.plot { overflow-x: auto; }
@media screen and (max-width: 640px) {
  main { padding: 20px 12px 40px; }
  th, td { padding: 8px; }
  .plot, .wide { /* a shade at the edge behind which there is more */
    --shade: color-mix(in srgb, var(--text) 22%, transparent), transparent;
    background:
      linear-gradient(to right, var(--paper) 40%, transparent) left / 30px 100% no-repeat local,
      linear-gradient(to left, var(--paper) 40%, transparent) right / 30px 100% no-repeat local,
      linear-gradient(to right, var(--shade)) left / 12px 100% no-repeat scroll,
      linear-gradient(to left, var(--shade)) right / 12px 100% no-repeat scroll; }
  .plot svg { min-width: 820px; } .plot.narrow svg { min-width: 440px; }
}
@media print {
  main { max-width: none; padding: 0; }
  figure, tr, .cause { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
  nav { display: none; } .wide, .plot { overflow: visible; }
  body { background: none; font-size: 11pt;
    print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# Of the view boxes of figures: of those that stand alone, and of several in a row.
_WIDE, _NARROW = 1040, 500

# With fewer sections the page is short enough to do without.
_MOST_WITHOUT_CONTENTS = 3
#: More rows of a table are counted beneath it.
MOST_ROWS = 200
_MOST_ON_A_LINE = 28


def report_page(report: Report) -> str:
    """Return a report as an HTML document that needs nothing else.

    It follows the reader's light or dark scheme, works without a network and prints.

    Returns:
        The document, to be written as UTF-8; the same report gives the same bytes.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    charts = [
        block for section in report.sections for block in section.blocks if isinstance(block, Chart)
    ]
    drawn = map(_drawn, charts)
    body = [
        _header(report),
        _contents(report.sections),
        *(_section(section, drawn) for section in report.sections),
    ]
    return _document(f"{report.title}: {report.kind} report", "\n".join(body))


def page_of_figures(
    figures: Sequence[Figure],
    *,
    title: str,
    headline: str = "",
    facts: Mapping[str, Cell] | None = None,
    findings: Iterable[Finding] = (),
) -> str:
    """Join figures and findings into one self-contained HTML document; see ``report_page``.

    Args:
        figures: From top to bottom; those of ``plots``, or any with a template of their own that
            may be replaced.
        title: What the page is about, such as the name of the run.
        headline: The answer in one sentence; the number of findings if not given.
        facts: Small print under the headline, a value for each label.
        findings: Listed in a table, the worst first.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    found = by_severity(findings)
    rows = tuple(
        (one.severity, one.step, one.rule, one.tensor, one.message, one.remedy)
        for group in found.values()
        for one in group
    )
    columns = ("severity", "step", "rule", "tensor", "finding", "what to do")
    count = f"{len(rows):,} finding{'s' if len(rows) > 1 else ''}" if rows else "No findings"
    charts = tuple(Chart(_same, {"figure": figure}) for figure in figures)
    sections = (
        *([Section("findings", "Findings", (Table(columns, rows),))] if rows else ()),
        *([Section("charts", "Figures", charts)] if charts else ()),
    )
    worst = next(iter(found), "none")
    return report_page(Report("run", title, headline or count, worst, facts or {}, sections))


def _same(figure: Figure) -> Figure:
    return figure


def _document(title: str, body: str) -> str:
    """Return a whole document."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<title>{escape(title)}</title>
<style>{scheme_style()}
{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _drawn(chart: Chart) -> str:
    """Return the element of a figure, its title above it as text."""
    figure = chart.figure()
    title = figure.layout.title
    head = "".join(
        f'<p class="{name}">{escape(unescape(text))}</p>'
        for name, text in (("title", title.text), ("subtitle", title.subtitle.text))
        if text
    )
    caption = f"<figcaption>{head}</figcaption>" if head else ""
    kind, width = ("plot narrow", _NARROW) if chart.narrow else ("plot", _WIDE)
    named = f'tabindex="0" role="region" aria-label="{escape(unescape(title.text or "figure"))}"'
    drawn = svg(figure, width=width)
    return f'<figure>{caption}<div class="{kind}" {named}>{drawn}</div></figure>'


def _header(report: Report) -> str:
    """Return what a page begins with; the tone colours the headline."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in report.lines)
    commands = f"<pre>{escape(chr(10).join(report.commands))}</pre>" if report.commands else ""
    trace = f'<pre class="traceback">{escape(report.traceback)}</pre>' if report.traceback else ""
    more = f'<div class="beneath">{lines}{trace}{commands}</div>' if lines or commands else ""
    return f"""<header>
<p class="brand">stepwatch</p>
<h1>{escape(report.title)}</h1>
<p class="headline {_css_class(report.tone)}">{escape(report.headline)}</p>
{more}
{_facts(report.facts)}
</header>"""


def _css_class(severity: str) -> str:
    """Return the class that colours what is of a severity."""
    return severity if severity in ("error", "warning", "info", "good") else "none"


def _facts(facts: Mapping[str, object]) -> str:
    if not facts:
        return ""
    items = (
        f"<div><dt>{escape(str(label))}</dt><dd>{escape(str(value))}</dd></div>"
        for label, value in facts.items()
    )
    return f"<dl>{''.join(items)}</dl>"


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
    name = shown_name(finding.tensor)
    tensor = f'<p class="tensor">{escape(name)}</p>' if name else ""
    remedy = (
        f'<p class="advice"><b>What to do:</b> {escape(finding.remedy)}</p>'
        if finding.remedy and not cause.is_headline
        else ""
    )
    message = "" if cause.is_headline else f'<p class="message">{escape(finding.message)}</p>'
    lines = "".join(f"<li>{escape(line)}</li>" for line in cause.lines)
    return f"""<article class="card cause {_css_class(finding.severity)}">
<p><span class="badge">{escape(finding.severity)}</span> <strong>{escape(finding.title)}</strong>
<span class="where">{escape(finding.where())} · {escape(finding.rule)}</span></p>
{message}{tensor}{remedy}
{f'<ul class="lines">{lines}</ul>' if lines else ""}
{_confirm(cause.confirm)}
</article>
"""


def _confirm(line: str) -> str:
    """Return what would confirm a cause: words, and a command that can be copied."""
    words, colon, command = line.partition(": stepwatch ")
    if not colon and line.startswith("stepwatch "):
        words, colon, command = "", "stepwatch ", line.removeprefix("stepwatch ")
    said = f'<p class="where">to confirm{f": {escape(words)}" if words else ""}</p>'
    return (said if line else "") + (f"<pre>stepwatch {escape(command)}</pre>" if colon else "")


def _table(table: Table) -> str:
    numeric = [
        all(isinstance(row[column], int | float | None) for row in table.rows)
        for column in range(len(table.columns))
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
    return f"""<div class="card listing">{title}<div class="wide" tabindex="0"><table>
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


_FIGURE = "application/vnd.plotly.v1+json"
# What would be markup in Markdown.
_MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "|[]*_`#\n"})


def report_notebook(report: Report) -> str:
    """Return a report as a notebook of Jupyter's format 4.4, to be written as UTF-8.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    facts = "\n".join(f"- {_text(name)}: {_text(value)}" for name, value in report.facts.items())
    cells = [_plain_text(f"# {_text(report.title)}\n\n{_text(report.headline)}\n\n{facts}")]
    for section in report.sections:
        cells.append(_plain_text(f"{'#' * (section.level + 1)} {_text(section.title)}"))
        cells += [cell for block in section.blocks for cell in _cells(block)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(notebook, indent=1)


def _cells(block: Block) -> Iterator[dict[str, Any]]:
    if isinstance(block, Chart):
        figure = block.figure()
        drawn = svg(figure, titled=True)
        data = {_FIGURE: json.loads(figure.to_json()), "image/svg+xml": drawn}
        output = {"output_type": "display_data", "data": data, "metadata": {}}
        ran: dict[str, Any] = {"execution_count": None, "metadata": {}, "source": ""}
        yield {"cell_type": "code", **ran, "outputs": [output]}
    elif isinstance(block, Table):
        yield _plain_text(_table_text(block))
    elif isinstance(block, Text):
        yield _plain_text(_text(block.text))
    else:
        lines = "\n".join(f"- {_text(line)}" for line in (*block.lines, block.confirm) if line)
        yield _plain_text(f"**{_text(block.finding.headline())}**\n\n{lines}")


def _table_text(table: Table) -> str:
    head = [_text(name) for name in table.columns]
    rows = [[_text(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join([*([f"**{_text(table.title)}**", ""] if table.title else []), *lines])


def _text(value: Cell) -> str:
    """Return a value as text in which nothing is markup."""
    if isinstance(value, float):
        return short(value)
    return "" if value is None else escape(str(value)).translate(_MARKS)


def _plain_text(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}
