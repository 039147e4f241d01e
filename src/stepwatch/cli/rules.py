"""``stepwatch rules``: which rules there are, and what each looks for, needs and saves."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import click

from .. import registry
from ..errors import ConfigError
from ..rules import DEFAULT_RULES, Rule
from ..rules.parameters import GROUP, build, find_rule
from ..specs import read_spec
from .console import console, print_json, table


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rules(*, as_json: bool) -> None:
    """List the rules that can be asked for."""
    default = {read_spec(spec, kind="rule", example="")[0]: spec for spec in DEFAULT_RULES}
    found = [_about(name, default.get(name, "")) for name in registry.names(GROUP)]
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
class _About:
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


def _about(name: str, default: str) -> _About:
    kind = find_rule(name)
    parameters = inspect.signature(kind).parameters.values()
    return _About(
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
