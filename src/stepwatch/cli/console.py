"""How verbs print: tables and text for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import track
from rich.segment import Segment
from rich.table import Table

from ..runtime.terminal import visible

if TYPE_CHECKING:  # verbs that print no verdict start without the rules
    from ..judge.engine import RuleStatus
    from ..judge.verdict import Episodes, Verdict
    from ..model.finding import Finding

T = TypeVar("T")
SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "cyan"}


class SafeConsole(Console):
    """A console on which stored text cannot do anything but be seen."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render what is printed, with the control characters of text made visible."""
        for one in super().render(renderable, options):
            yield one if one.control else Segment(visible(one.text), one.style)


def console(*, stderr: bool = False) -> Console:
    """Return the console for results; wide where they go to a file."""
    output = SafeConsole(highlight=False, stderr=stderr)
    if output.is_terminal:
        return output
    return SafeConsole(highlight=False, stderr=stderr, width=160)


def track_progress(items: Iterable[T], *, description: str, total: int) -> Iterable[T]:
    """Yield items, with a progress bar on a terminal."""
    terminal = SafeConsole(stderr=True)
    return track(
        items,
        description=description,
        total=total,
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal,
    )


def print_json(value: object) -> None:
    """Print a value as one JSON document."""
    print(json.dumps(value, indent=1, default=str))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table without lines; numbers stand to the right."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    rows = [list(row) for row in rows]
    for index, heading in enumerate(headings):
        numeric = bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
        grid.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(_cell(value)) for value in row))
    return grid


def print_verdict(
    output: Console, findings: Sequence[Finding], statuses: Sequence[RuleStatus]
) -> None:
    """Print the verdict and which rules could not judge."""
    from ..judge.verdict import headline, not_evaluated

    output.print(headline(findings, statuses), style="bold", markup=False)
    for line in not_evaluated(statuses):
        output.print(f"  {line}", style="dim", markup=False)


def print_finding(output: Console, finding: Finding, workers: Sequence[str]) -> None:
    """Print a finding and what to do about it; and of whom it is if there are several workers."""
    style = SEVERITY_STYLES.get(finding.severity, "")
    worker = f" of {finding.worker}" if finding.worker and len(workers) > 1 else ""
    output.print(
        f"[{style}]{finding.severity}[/] [bold]{escape(finding.rule)}[/] {finding.where()}{worker}",
        f"  {escape(finding.message)}",
        sep="\n",
    )
    if finding.remedy:
        output.print(f"  [dim]{escape(finding.remedy)}[/]")


def print_chains(
    output: Console, verdict: Verdict, workers: Sequence[str], most: int | None
) -> None:
    """Print causes with what followed; ``most`` at most, or all with every finding if ``None``."""
    from ..judge.verdict import Episodes, episodes, plural

    if most is None:
        found = [Episodes(chain, (chain.cause.step,)) for chain in verdict.chains]
    else:
        found = episodes(verdict.chains)
    for one in found[:most]:
        print_finding(output, one.chain.cause, workers)
        _print_around(output, one, verdict)
        if most is None:
            for consequence in one.chain.consequences:
                print_finding(output, consequence.finding, workers)
    rest = found[most:] if most is not None else []
    if rest:
        count = sum(len(one.steps) + len(one.chain.consequences) for one in rest)
        hidden = plural(count, "finding")
        output.print(f"and {plural(len(rest), 'more cause')} with {hidden}; see them with: --all")


def _print_around(output: Console, found: Episodes, verdict: Verdict) -> None:
    lines = [*found.lines(), f"to confirm: {found.chain.confirm(verdict.run)}"]
    gaps = verdict.blind_spots(found.chain).lines()
    lines += [f"not checked: {'; '.join(gaps)}"] if gaps else []
    for line in lines:
        output.print(f"  {line}", style="dim", markup=False)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
