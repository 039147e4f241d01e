"""The verbs that list: ``stepwatch rules`` and ``stepwatch runs``."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from ..config import runs_folder
from ..errors import ConfigError, RunNotFound, StepwatchError
from ..judge.parameters import GROUP, build, find_rule
from ..plugins import registry
from ..plugins.specs import read_spec
from ..rules import DEFAULT_RULES, Rule
from ..runtime.terminal import print_text
from ..trial.run_listing import find_runs, summarize_at
from .console import console, print_json, table


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules(*, as_json: bool) -> None:
    """List the rules that can be asked for."""
    default = {read_spec(spec, kind="rule", example="")[0]: spec for spec in DEFAULT_RULES}
    found = [_rule_info(name, default.get(name, "")) for name in registry.names(GROUP)]
    if as_json:
        print_json([asdict(one) for one in found])
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


HEADINGS = ("run", "state", "steps", "last loss", "findings", "started")


@click.command()
@click.argument("folder", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(folder: str | None, *, as_json: bool) -> None:
    """List the runs in FOLDER, by default ./runs or $STEPWATCH_RUNS."""
    folder_path = Path(folder) if folder else runs_folder()
    if folder and not folder_path.is_dir():
        raise RunNotFound(f"no folder {folder_path}; runs are made by: stepwatch run train.py")
    rows = [_run_row(name, folder_path) for name in find_runs(str(folder_path))]
    if as_json:
        print_json([dict(zip(HEADINGS, row, strict=True)) for row in rows])
    elif rows:
        console().print(table(HEADINGS, rows))
    else:
        print_text(f"no runs in {folder_path}; they are made by: stepwatch run train.py")


def _run_row(name: str, folder_path: Path) -> tuple[object, ...]:
    label = name or str(folder_path)
    try:
        one = summarize_at(str(folder_path / name))
    except StepwatchError as error:
        return label, f"unreadable: {error}", "", "", "", ""
    loss = "" if one.last_loss is None else one.last_loss
    return label, one.state, one.steps, loss, one.findings, _minute(one.started_ns)


def _minute(time_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1e9)) if time_ns else ""
