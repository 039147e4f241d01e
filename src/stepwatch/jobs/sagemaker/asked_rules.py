"""Rules as a client configures them, and what is done about what they find."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import RequestRefused
from ..spec import RuleSpec

RULES = ("DebugRuleConfigurations", "ProfilerRuleConfigurations")
# It becomes that of a folder.
_NAME = re.compile(r"[A-Za-z0-9][\w .:@+=-]{0,199}")


def rule_specs(asked: Mapping[str, Any]) -> tuple[RuleSpec, ...]:
    """Return the rules of a request, those that look at tensors first.

    Raises:
        RequestRefused: A name that two have, or that cannot be one.
    """
    configurations = [one for kind in RULES for one in asked.get(kind, ())]
    return check_names([rule_spec(one, asked["TrainingJobName"]) for one in configurations])


def check_names(rules: Sequence[RuleSpec]) -> tuple[RuleSpec, ...]:
    """Return rules of which no two have one name."""
    names = [rule.name for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestRefused(
            "ValidationException",
            f"RuleConfigurationName must be unique, and {twice[0]!r} is given more than once.",
        )
    return tuple(rules)


def rule_spec(configuration: Mapping[str, Any], job: str) -> RuleSpec:
    """Return a rule of a job.

    Raises:
        RequestRefused: Its name cannot be one.
    """
    name = configuration["RuleConfigurationName"]
    if not _NAME.fullmatch(name):
        raise RequestRefused(
            "ValidationException",
            f"RuleConfigurationName {name!r} cannot be that of a folder: up to 200 letters,"
            " digits and _ . : @ + = - after a letter or digit.",
        )
    parameters = dict(configuration.get("RuleParameters", {}))
    actions, stops = _actions(parameters.pop("action_json", ""), job)
    return RuleSpec(parameters, name, actions, stops)


def _actions(text: str, job: str) -> tuple[tuple[str, ...], str]:
    """Return what is done about findings, and what the name of the job begins with to be stopped.

    Some clients write a backslash before each quote. What cannot be read is done nothing about,
    as on SageMaker.

    Example:
        >>> _actions('[{"name": "email", "endpoint": "a@b.org"}, {"name": "stoptraining"}]', "j")
        (('mail:to=a@b.org', 'stop'), 'j')
    """
    try:
        parsed = json.loads(text.replace('\\"', '"')) if text else []
    except (ValueError, RecursionError):
        parsed = []
    actions, stops = list[str](), job
    for one in parsed if isinstance(parsed, list) else [parsed]:
        kind = str(one.get("name", "")).lower() if isinstance(one, dict) else ""
        if kind == "stoptraining":
            actions.append("stop")
            stops = str(one.get("training_job_prefix") or job)
        elif kind in _SENT:
            actions.append(f"{_SENT[kind]}:to={one.get('endpoint')}")
    return tuple(actions), stops


_SENT = {"email": "mail", "sms": "sms"}
