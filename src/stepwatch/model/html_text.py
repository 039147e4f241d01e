"""What notebooks show of values: small tables in which nothing of a run is markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, rows: Iterable[Sequence[object]], headings: Sequence[str] = ()) -> str:
    """Return a table as HTML.

    Args:
        title: Stands above it.
        rows: As many cells each.
        headings: Of the columns; none for facts, whose first cell is the heading.

    Example:
        >>> html_table("run", [("state", "<b>")])
        '<p><b>run</b></p><table><tr><th>state</th><td>&lt;b&gt;</td></tr></table>'
    """
    head = f"<tr>{''.join(f'<th>{escape(one)}</th>' for one in headings)}</tr>" if headings else ""
    body = "".join(f"<tr>{_row(row, is_fact=not headings)}</tr>" for row in rows)
    return f"<p><b>{escape(title)}</b></p><table>{head}{body}</table>"


def _row(row: Sequence[object], *, is_fact: bool) -> str:
    tags = ["th" if is_fact and not number else "td" for number in range(len(row))]
    cells = zip(tags, row, strict=True)
    return "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for tag, cell in cells)
