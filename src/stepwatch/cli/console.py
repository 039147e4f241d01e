"""How verbs print: tables and text for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import track
from rich.segment import Segment
from rich.status import Status
from rich.style import Style
from rich.text import Text

from ..config import environment
from ..runtime.terminal import visible

if TYPE_CHECKING:  # verbs that print no verdict start without the rules
    from ..judge.headline import Headline
    from ..judge.verdict import Episodes, Verdict
    from ..model.finding import Finding

T = TypeVar("T")
SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "cyan"}
TONE_STYLES = {**SEVERITY_STYLES, "good": "bold green", "none": "bold"}


class SafeConsole(Console):
    """A console on which stored text cannot do anything but be seen."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render what is printed, with the control characters of text made visible."""
        for one in super().render(renderable, options):
            yield one if one.control else Segment(visible(one.text), one.style)


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return the console for results: as wide as the terminal or ``$COLUMNS``, else wide."""
    context = click.get_current_context(silent=True)
    is_plain = bool(context and context.meta.get("--no-color"))
    how: dict[str, Any] = {"highlight": False, "stderr": stderr, "quiet": quiet}
    if is_plain:  # rich itself looks at $NO_COLOR
        how["no_color"] = True
    output = SafeConsole(**how)
    if output.is_terminal or environment().get("COLUMNS", "").isdecimal():
        return output
    return SafeConsole(**how, width=160)


def track_progress(items: Iterable[T], *, description: str, total: int) -> Iterable[T]:
    """Yield items, with a progress bar on a terminal."""
    terminal = progress_console()
    return track(
        items,
        description=description,
        total=total,
        console=terminal,
        transient=True,
        disable=terminal.quiet or not terminal.is_terminal,
    )


def working(text: str) -> Status:
    """Return a context in which a line on a terminal says what is under way; see ``update``."""
    return progress_console().status(text)


def progress_console() -> Console:
    """Return the console for what is under way; it shows nothing if asked to be quiet."""
    context = click.get_current_context(silent=True)
    return console(stderr=True, quiet=bool(context and context.meta.get("--quiet")))


#: Of the documents that verbs print, unless they say theirs; it grows when a key changes its
#: meaning or goes.
SCHEMA_VERSION = 1


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document, with its ``schema_version``; ``docs/schemas`` describes each.

    Numbers that are not finite are text, ``"nan"`` or ``"inf"``: JSON has none of them.
    """
    from ..model.finding import plain  # verbs that print none start without it

    whole = plain({"schema_version": SCHEMA_VERSION, **document})
    text = json.dumps(whole, indent=1, default=str, allow_nan=False)
    print(text, flush=True)  # whoever reads it may wait for it while the verb goes on


class WidthAwareTable:
    """A table without lines where it fits; else a record of lines for each row.

    So no word and no number is broken, however narrow the terminal is.

    Args:
        headings: Of the columns.
        rows: As many cells each.
    """

    def __init__(self, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._headings, self._rows = headings, [list(row) for row in rows]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterable[RenderableType | Segment]:
        lines = [self._headings, *(list(map(_cell, row)) for row in self._rows)]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        if sum(widths) + len(_BETWEEN) * (len(widths) - 1) <= options.max_width:
            yield from self._grid(lines, widths)
            return
        for first, *rest in lines[1:]:
            yield Text(first, "bold", overflow="fold")
            cells = zip(self._headings[1:], rest, strict=True)
            known = (f"{heading} {cell}".strip() for heading, cell in cells if cell)
            for line in Text(", ".join(known)).wrap(console, max(_NARROWEST, console.width - 2)):
                yield Text(f"  {line.plain.rstrip()}")

    def _grid(self, lines: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[Segment]:
        """Yield the lines of a table; that of rich takes most of a second for a thousand."""
        is_number = [
            bool(self._rows) and all(isinstance(row[index], (int, float)) for row in self._rows)
            for index in range(len(widths))
        ]
        style: Style | None = Style(bold=True)
        for cells in lines:
            spaces = [" " * (w - cell_len(cell)) for w, cell in zip(widths, cells, strict=True)]
            padded = (
                space + cell if right else cell + space
                for cell, space, right in zip(cells, spaces, is_number, strict=True)
            )
            yield Segment(_BETWEEN.join(padded).rstrip(), style)
            yield Segment.line()
            style = None


_BETWEEN = "  "


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> WidthAwareTable:
    """Return a table without lines; numbers stand to the right."""
    return WidthAwareTable(headings, rows)


def print_headline(output: Console, headline: Headline) -> None:
    """Print how a run stands: title and sentence, what to do, and what is known of its end."""
    print_hanging(output, f"{headline.mark} ", headline.title, TONE_STYLES[headline.tone])
    if headline.rest:
        print_hanging(output, "  ", headline.rest)
    for line in headline.details:
        print_hanging(output, "  ", line)
    if headline.remedy:
        print_hanging(output, "  ", f"What to do: {headline.remedy}")
    for command in headline.commands:
        output.print(f"  {command}", style="cyan", markup=False, soft_wrap=True)
    if headline.traceback:
        output.print(f"\n{headline.traceback}", style="dim", markup=False, soft_wrap=True)


def print_outcomes(output: Console, verdict: Verdict, *, verbose: bool = False) -> None:
    """Print how many rules passed, unless the headline says it; with ``verbose`` which did not."""
    from ..judge.headline import counts
    from ..judge.verdict import not_evaluated

    head, lines = verdict.headline, not_evaluated(verdict.statuses)
    if head.outcome in ("failed", "found") and head.checks:
        print_hanging(output, "", counts(head.checks), "bold")
    if lines and not verbose:
        output.print("  -v lists what lacked data", style="dim")
    for line in lines if verbose else ():
        print_hanging(output, "  ", line, "dim")


def print_hanging(output: Console, indent: str, text: str, style: str = "") -> None:
    """Print a text after an indent, its further lines as far to the right as the first.

    A word is broken only where it is longer than a line.
    """
    width = max(_NARROWEST, output.width - len(indent))
    for number, line in enumerate(Text(text).wrap(output, width)):
        begin = " " * len(indent) if number else indent
        output.print(f"{begin}{line.plain.rstrip()}", style=style, markup=False, soft_wrap=True)


_NARROWEST = 20


def print_finding(output: Console, finding: Finding, workers: Sequence[str]) -> None:
    """Print a finding and what to do about it; and of whom it is if there are several workers."""
    title = f"{finding.title[:1].upper()}{finding.title[1:]}"
    _print_origin(output, finding, workers, f" [bold]{escape(title)}[/],")
    print_hanging(output, "  ", finding.message)
    if finding.remedy:
        print_hanging(output, "  ", finding.remedy, "dim")


def _print_origin(
    output: Console, finding: Finding, workers: Sequence[str], title: str = "", indent: str = ""
) -> None:
    """Print how severe it is, where it was found and by which rule, after what it is called."""
    style = SEVERITY_STYLES.get(finding.severity, "")
    worker = f" of {finding.worker}" if finding.worker and len(workers) > 1 else ""
    output.print(
        f"{indent}[{style}]{finding.severity}[/]{title or ' ·'} {finding.where()}{worker}"
        f" [dim]· rule {escape(finding.rule)}[/]",
        soft_wrap=True,
    )


def print_chains(
    output: Console,
    verdict: Verdict,
    workers: Sequence[str],
    most: int | None,
    *,
    verbose: bool = False,
) -> None:
    """Print causes with what followed; ``most`` at most, or all with every finding if ``None``.

    With ``verbose`` also where an earlier cause could lie.
    """
    from ..judge.verdict import Episodes, episodes, plural

    if most is None:
        found = [Episodes(chain, (chain.cause.train_step,)) for chain in verdict.chains]
    else:
        found = episodes(verdict.chains)
    head = verdict.headline
    for one in found[:most]:
        if one.chain.cause is head.cause and head.outcome == "found":  # the headline says it
            _print_origin(output, one.chain.head, workers, indent="  ")
        else:
            print_finding(output, one.chain.head, workers)
        _print_around(output, one, verdict, verbose=verbose)
        if most is None:
            for consequence in one.chain.consequences:
                print_finding(output, consequence.finding, workers)
    rest = found[most:] if most is not None else []
    if rest:
        count = sum(len(one.steps) + len(one.chain.consequences) for one in rest)
        hidden = plural(count, "finding")
        output.print(f"and {plural(len(rest), 'more cause')} with {hidden} (--all lists them)")


def _print_around(output: Console, found: Episodes, verdict: Verdict, *, verbose: bool) -> None:
    confirm = verdict.confirm(found.chain)
    lines = [*found.lines(), *([f"to confirm: {confirm}"] if confirm else [])]
    gaps = verdict.blind_spots(found.chain).lines() if verbose else []
    lines += [f"not checked: {'; '.join(gaps)}"] if gaps else []
    if proof := verdict.proof(found.chain):
        print_hanging(output, "  ", proof.line(), "bold green" if proof.proved else "")
    for line in lines:
        print_hanging(output, "  ", line, "dim")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return visible(str(value)).replace("\n", " ")
