"""How verbs print: tables and text for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..finding import Finding
from ..rules.watch import RuleStatus
from .verdict import headline, not_judged

SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "cyan"}


def console() -> Console:
    """Return the console for results; wide where they go to a file."""
    output = Console(highlight=False)
    return output if output.is_terminal else Console(highlight=False, width=160)


def print_json(value: object) -> None:
    """Print a value as one JSON document."""
    print(json.dumps(value, indent=1, default=str))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table without lines; numbers stand to the right."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    rows = [list(row) for row in rows]
    for index, heading in enumerate(headings):
        numeric = bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
        shown.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(escape(_cell(value)) for value in row))
    return shown


def print_verdict(
    output: Console, findings: Sequence[Finding], statuses: Sequence[RuleStatus]
) -> None:
    """Print the verdict and which rules could not judge."""
    output.print(headline(findings, statuses), style="bold", markup=False)
    for line in not_judged(statuses):
        output.print(f"  {line}", style="dim", markup=False)


def print_finding(output: Console, finding: Finding) -> None:
    """Print a finding and what to do about it."""
    style = SEVERITY_STYLES.get(finding.severity, "")
    output.print(
        f"[{style}]{finding.severity}[/] [bold]{escape(finding.rule)}[/] {finding.where()}",
        f"  {escape(finding.message)}",
        sep="\n",
    )
    if finding.remedy:
        output.print(f"  [dim]{escape(finding.remedy)}[/]")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
