"""The rules of a job, from what the job says of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import suppress

from ..errors import ConfigError
from ..rules.compat import compat_rule
from ..rules.parameters import parse_rules
from ..rules.scope import Scope, Watched, evidence
from ..specs import load_file
from .debugger_rule import DebuggerRule
from .inputs import copy_files
from .place import Place
from .spec import JobSpec, RuleSpec

SOURCE, NAME = "source_s3_uri", "rule_to_invoke"


def watched(rule: RuleSpec, place: Place, run: str) -> Watched:
    """Build a rule of a job.

    Args:
        rule: What the job says of it.
        place: The folder of the job, where files of rules lie.
        run: The run that it judges.

    Raises:
        ConfigError: An unknown rule or parameter, or a value that does not fit.
        StoreError: The file of a rule cannot be read.
    """
    if isinstance(rule.rule, str):
        return parse_rules([rule.rule])[0]
    if SOURCE in rule.rule:
        return _own(rule.name, rule.rule, place, run)
    return compat_rule(rule.name, rule.rule)


def needed(spec: JobSpec, place: Place) -> tuple[str, ...]:
    """Return what must be saved for the rules of a job, in the words of ``--save``."""
    built = []
    for rule in spec.rules:
        if isinstance(rule.rule, str) or SOURCE not in rule.rule:
            with suppress(ConfigError):  # its own process says so
                built.append(watched(rule, place, str(place.tensors)))
    return evidence(built)


def _own(name: str, parameters: Mapping[str, str], place: Place, run: str) -> Watched:
    """Build a rule from its own file: one of ours, or one that was written for smdebug."""
    source = parameters[SOURCE]
    if not source.endswith(".py"):
        raise ConfigError(f"rule configuration {name!r}: {source} is no Python file")
    copy_files(source, place.rule_source(name))
    file = place.rule_source(name) / source.rpartition("/")[2]
    asked = parameters.get(NAME, name)
    kind = getattr(load_file(str(file), kind="rule"), asked, None)
    rest = {key: value for key, value in parameters.items() if key not in (SOURCE, NAME)}
    if inspect.isclass(kind) and hasattr(kind, "invoke_at_step"):
        rule = DebuggerRule(kind, run, rest)
        return Watched(rule, Scope(profile="compat", on_fire="stop"), name)
    return compat_rule(name, {**rest, NAME: f"{file}:{asked}"})
