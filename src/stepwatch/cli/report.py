"""``stepwatch report RUNS``: what is known of runs, as a page each."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from ..errors import ConfigError
from ..judge.evaluate import Progress, without_progress
from ..judge.parameters import rule_specs
from ..judge.verdict import plural
from ..plugins import registry
from ..report.kinds import GROUP, load, suits
from ..rules import DEFAULT_RULES
from ..runtime.terminal import print_text
from ..trial import Trial
from .console import print_json, track_progress
from .fleets import attempt_each, labels
from .run_names import RunVerb, expand_runs, runs_or_newest
from .show import write_page


@click.command(cls=RunVerb)
@runs_or_newest
@click.option(
    "--kind", type=click.Choice(registry.names(GROUP)), help="Which; by default what suits."
)
@click.option("--rules", multiple=True, help="Judge it anew, by these rules.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Where; else NAME-KIND.html. Of several runs a folder; else here.",
)
@click.option("--open", "show", is_flag=True, help="Show it in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the document as JSON instead.")
@click.option(
    "--ray", "on_ray", is_flag=True, help="On a Ray cluster, whose nodes see the folder of -o."
)
def report(
    runs: tuple[str, ...],
    kind: str | None,
    rules: tuple[str, ...],
    output: str | None,
    *,
    show: bool,
    as_json: bool,
    on_ray: bool,
) -> int:
    """Write what is known of RUNS into a self-contained page each.

    A folder or URL stands for all runs beneath it, and a pattern such as 'runs/2026-*' for those
    that it fits.
    """
    found = expand_runs(runs)
    specs = rule_specs(rules, DEFAULT_RULES) if rules else None
    if len(found) > 1 or on_ray:
        if show or as_json:
            raise ConfigError("--open and --json are for one run; see the pages in the folder")
        return _write_each(found, kind, specs, Path(output or "."), on_ray=on_ray)
    trial = Trial(found[0])
    progress = partial(track_progress, description="judging", total=len(trial.steps()))
    if as_json:
        print_json(load(kind or suits(trial)).report(trial, specs, shown=progress).to_dict())
        return 0
    if output and Path(output).is_dir():
        raise ConfigError(f"{output} is a folder; for one run -o names the page")
    path = _write(trial, kind, specs, progress, output)
    print_text(f"wrote {path}")
    if show:
        webbrowser.open(path.absolute().as_uri())
    return 0


def _write(
    trial: Trial,
    kind: str | None,
    specs: Sequence[str] | None,
    progress: Progress,
    path: Path | str | None,
) -> Path:
    chosen = kind or suits(trial)
    made = load(chosen).report(trial, specs, shown=progress)
    path = Path(path or f"{made.title}-{chosen}.html")
    write_page(path, made)
    return path


def _write_each(
    runs: Sequence[str],
    kind: str | None,
    specs: Sequence[str] | None,
    folder: Path,
    *,
    on_ray: bool,
) -> int:
    if folder.is_file():
        raise ConfigError(f"{folder} is a file; for several runs -o names a folder")
    folder.mkdir(parents=True, exist_ok=True)
    pages = [folder.absolute() / f"{label.replace('/', '-')}.html" for label in labels(runs)]
    calls = [(run, kind, specs, page) for run, page in zip(runs, pages, strict=True)]
    done = attempt_each(write_report, calls, description="writing pages", on_ray=on_ray)
    written = sum(not one.error for one in done)
    print_text(f"wrote {plural(written, 'page')} to {folder}")
    return 0 if written == len(done) else 2


def write_report(run: str, kind: str | None, specs: Sequence[str] | None, page: Path) -> None:
    """Write what is known of a run into a page."""
    _write(Trial(run), kind, specs, without_progress, page)
