"""The verbs that list: ``stepwatch rules`` and ``stepwatch runs``."""

from __future__ import annotations

import inspect
import math
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from ..config import runs_folder
from ..errors import ConfigError, RunNotFound, StepwatchError, StoreAway, StoreError
from ..formats.manifest import RUN_KEY
from ..formats.settings import RunSettings, read_settings
from ..judge.parameters import GROUP, build, find_rule
from ..plugins import registry
from ..plugins.specs import read_spec
from ..rules import DEFAULT_RULES, Rule
from ..runtime.terminal import print_text
from ..store import open_store, scheme_of
from ..trial.run_listing import find_runs, summarize_at
from .console import console, print_json, table, track_progress
from .run_names import run_path, split_pattern


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules(*, as_json: bool) -> None:
    """List the rules that can be asked for."""
    default = {read_spec(spec, kind="rule", example="")[0]: spec for spec in DEFAULT_RULES}
    found = [_rule_info(name, default.get(name, "")) for name in registry.names(GROUP)]
    if as_json:
        print_json({"rules": [asdict(one) for one in found]})
        return
    rows = [
        (
            f"{one.rule}{' *' if one.default else ''}",
            one.looks_for,
            ", ".join(one.needs),
            ", ".join(one.saves),
        )
        for one in found
    ]
    console().print(table(("rule", "looks for", "needs", "is saved for it"), rows))
    print("* is in the default set; parameters: docs/rules.md, or stepwatch rules --json")


@dataclass(frozen=True, slots=True)
class _RuleInfo:
    """A rule in words.

    Args:
        rule: Its name.
        looks_for: What it finds.
        needs: Collections of which a step must hold a tensor.
        saves: What is saved for it beyond the defaults, in the words of ``--save``.
        default: How the default set asks for it; empty if it does not.
        parameters: Its own, with their defaults.
    """

    rule: str
    looks_for: str
    needs: tuple[str, ...]
    saves: tuple[str, ...]
    default: str
    parameters: Mapping[str, object]


def _rule_info(name: str, default: str) -> _RuleInfo:
    kind = find_rule(name)
    parameters = inspect.signature(kind).parameters.values()
    return _RuleInfo(
        rule=name,
        looks_for=(inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " "),
        needs=tuple(getattr(kind, "needs", ())),
        saves=_saves(name, kind),
        default=default,
        parameters={
            one.name: None if one.default is inspect.Parameter.empty else one.default
            for one in parameters
        },
    )


def _saves(name: str, kind: type[Rule]) -> tuple[str, ...]:
    """Return what is saved for a rule as it is by itself; some save what parameters ask for."""
    try:
        rule = build(name, {}).rule
    except ConfigError:  # it cannot do without a parameter
        return getattr(kind, "evidence", ())
    return getattr(rule, "evidence", ())


@dataclass(frozen=True, slots=True)
class _Row:
    """A run in the list.

    Args:
        run: Its path from the folder.
        where: Its path.
        state: How it stands, or why it cannot be read.
        steps: How many; ``None`` where it cannot be read.
        last_loss: The last training loss; ``None`` for none.
        findings: How many; ``None`` where it cannot be read.
        started_ns: When it began; 0 if that is not known.
        settings: What it is called.
    """

    run: str
    where: str
    state: str
    steps: int | None = None
    last_loss: float | None = None
    findings: int | None = None
    started_ns: int = 0
    settings: RunSettings = field(default_factory=RunSettings)

    def cells(self) -> dict[str, object]:
        """Return what the list shows, by heading."""
        return {
            "run": self.run,
            "state": self.state,
            "steps": "" if self.steps is None else self.steps,
            "last loss": "" if self.last_loss is None else self.last_loss,
            "findings": "" if self.findings is None else self.findings,
            "started": _minute(self.started_ns),
            "name": self.settings.name,
            "project": self.settings.project,
            "tags": ", ".join(self.settings.tags),
            "note": self.settings.note,
        }


#: What is shown only where some run has it.
_IF_THERE = ("name", "project", "tags", "note")
_SORTS: Mapping[str, Callable[[_Row], Any]] = {
    "run": lambda row: row.run,
    "started": lambda row: row.started_ns,
    "steps": lambda row: -1 if row.steps is None else row.steps,
    "findings": lambda row: -1 if row.findings is None else row.findings,
    "loss": lambda row: math.inf if row.last_loss is None else row.last_loss,
}


@click.command()
@click.argument("folder", required=False)
@click.option("--state", help="Only those that stand so, such as failed.")
@click.option("--name", help="Only those whose name or path matches, such as 'resnet*'.")
@click.option("--project", help="Only those of this project.")
@click.option("--tag", "tags", multiple=True, help="Only those with this tag; several times.")
@click.option(
    "--sort", type=click.Choice(list(_SORTS)), default="run", show_default=True, help="By what."
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--remove", is_flag=True, help="Remove those that are listed, after asking.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(
    folder: str | None,
    state: str | None,
    name: str | None,
    project: str | None,
    tags: tuple[str, ...],
    sort: str,
    *,
    reverse: bool,
    remove: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """List the runs in FOLDER, by default ./runs or $STEPWATCH_RUNS.

    FOLDER may be a URL, such as s3://bucket/runs, a pattern, such as 'runs/2026-*', or a file in
    which others keep several runs, such as mlflow.db.
    """
    if remove and as_json and not yes:
        raise ConfigError("--remove asks, unless --yes is given; with --json it cannot ask")
    place, pattern = split_pattern(folder or str(runs_folder()))
    is_here = not scheme_of(place)
    if remove and not is_here:
        raise ConfigError(f"--remove removes runs of this machine; {place} is elsewhere")
    if folder and is_here and not Path(place).exists():
        raise RunNotFound(f"no folder {place}; runs are made by: stepwatch run train.py")
    found = [
        run for run in find_runs(place) if not pattern or fnmatchcase(run_path(place, run), pattern)
    ]
    shown_runs = track_progress(found, description="reading runs", total=len(found))
    every = [_row(one, place) for one in shown_runs]
    rows = [
        row
        for row in every
        if (state is None or row.state == state)
        and (name is None or any(fnmatchcase(x, name) for x in (row.settings.name, row.run)))
        and (project is None or row.settings.project == project)
        and set(tags) <= {*row.settings.tags}
    ]
    rows.sort(key=_SORTS[sort], reverse=reverse)
    shown = [row.cells() for row in rows]
    if as_json:
        print_json({"runs": shown})
    elif rows:
        headings = [
            one for one in shown[0] if one not in _IF_THERE or any(cells[one] for cells in shown)
        ]
        console().print(table(headings, [[cells[one] for one in headings] for cells in shown]))
    elif every:
        print_text(f"none of the {len(every)} runs in {place} is asked for")
    else:
        print_text(f"no runs in {place}; they are made by: stepwatch run train.py")
    if remove and rows:
        _remove(rows, ask=not yes, quiet=as_json)


def _remove(rows: Sequence[_Row], *, ask: bool, quiet: bool) -> None:
    """Remove runs of ours that go on no more; others stay, which is said."""
    chosen = []
    for row in rows:
        why = _why_not(row)
        if why:
            print_text(f"{row.run} stays: {why}", file=sys.stderr)
        else:
            chosen.append(row)
    if not chosen or (ask and not click.confirm(f"Remove {_count(chosen)}?")):
        return
    for row in chosen:
        try:
            shutil.rmtree(row.where)
        except OSError as error:
            raise StoreError(f"cannot remove {row.where}: {error.strerror}") from None
    if not quiet:
        print_text(f"removed {_count(chosen)}")


def _count(rows: Sequence[_Row]) -> str:
    return f"{len(rows)} run{'' if len(rows) == 1 else 's'}"


def _why_not(row: _Row) -> str:
    """Return why a run is not removed; empty if it may be."""
    if not Path(row.where, RUN_KEY).is_file():
        return "it was not written by stepwatch"
    return "it is running" if row.state == "running" else ""


def _row(name: str, place: str) -> _Row:
    label, where = name or place, run_path(place, name)
    try:
        one = summarize_at(where)
    except StoreAway:
        raise  # nor would the others be there
    except StepwatchError as error:
        return _Row(label, where, f"unreadable: {error}")
    is_ours = bool(scheme_of(where)) or Path(where, RUN_KEY).is_file()
    settings = read_settings(open_store(where)) if is_ours else RunSettings()
    return _Row(
        label, where, one.state, one.steps, one.last_loss, one.findings, one.started_ns, settings
    )


def _minute(time_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1e9)) if time_ns else ""
