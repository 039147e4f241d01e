"""``stepwatch report RUN``: what is known of a run, as one page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from .. import registry
from ..report.kinds import GROUP, load, suits
from ..rules.judged import Records
from ..trial import Trial
from .console import print_json
from .pages import write_page
from .run import rule_specs


@click.command()
@click.argument("run")
@click.option(
    "--kind", type=click.Choice(registry.names(GROUP)), help="Which; by default what suits."
)
@click.option("--rules", multiple=True, help="Judge it anew, by these rules.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where; else NAME-KIND.html.")
@click.option("--open", "show", is_flag=True, help="Show it in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the document as JSON instead.")
def report(
    run: str,
    kind: str | None,
    rules: tuple[str, ...],
    output: str | None,
    *,
    show: bool,
    as_json: bool,
) -> None:
    """Write what is known of RUN into one page that needs nothing else."""
    trial = Trial(run)
    chosen = kind or suits(trial)
    specs = rule_specs(rules) if rules else None
    made = load(chosen).report(trial, specs, shown=lambda steps: _tracked(trial, steps))
    if as_json:
        print_json(made.to_dict())
        return
    path = Path(output or f"{made.title}-{chosen}.html")
    write_page(path, made)
    print(f"wrote {path}")
    if show:
        webbrowser.open(path.absolute().as_uri())


def _tracked(trial: Trial, records: Records) -> Records:
    terminal = Console(stderr=True)
    return track(
        records,
        description="judging",
        total=len(trial.steps()),
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal,
    )
