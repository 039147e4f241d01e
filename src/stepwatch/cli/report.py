"""``stepwatch report RUN``: what is known of a run, as one page."""

from __future__ import annotations

import webbrowser
from functools import partial
from pathlib import Path

import click

from ..judge.parameters import rule_specs
from ..plugins import registry
from ..report.kinds import GROUP, load, suits
from ..rules import DEFAULT_RULES
from ..runtime.terminal import print_text
from ..trial import Trial
from .console import print_json, track_progress
from .run_names import RunVerb, run_or_newest
from .show import write_page


@click.command(cls=RunVerb)
@run_or_newest
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
    """Write what is known of RUN into one self-contained page."""
    trial = Trial(run)
    chosen = kind or suits(trial)
    specs = rule_specs(rules, DEFAULT_RULES) if rules else None
    progress = partial(track_progress, description="judging", total=len(trial.steps()))
    made = load(chosen).report(trial, specs, shown=progress)
    if as_json:
        print_json(made.to_dict())
        return
    path = Path(output or f"{made.title}-{chosen}.html")
    write_page(path, made)
    print_text(f"wrote {path}")
    if show:
        webbrowser.open(path.absolute().as_uri())
