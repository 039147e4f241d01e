"""Rules as SageMaker Debugger configures them, and their statuses in its terms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from ..errors import ConfigError
from ..judge.parameters import build, find_rule
from ..judge.rule import Watched

_NAME = "rule_to_invoke"
# The run itself, which is given where the rule is used.
_IMPLICIT = ("base_trial",)
#: Under such names runs to compare with are given.
OTHER_TRIAL = re.compile(r"other_trial_(\d+)")
_MOST_DETAILS = 1024


def compat_rule(name: str, parameters: Mapping[str, str]) -> Watched:
    """Build a rule from a configuration of SageMaker, with its conditions and defaults.

    Args:
        name: What the configuration calls it, ``RuleConfigurationName``. Findings and statuses
            go by it.
        parameters: ``RuleParameters``: ``rule_to_invoke`` is the rule, by default ``name``, and
            ``other_trial_0``, ``other_trial_1`` … are runs to compare with. All are texts.

    Raises:
        ConfigError: An unknown rule or parameter, or a value that does not fit.

    Example:
        >>> watched = compat_rule("mine", {"rule_to_invoke": "VanishingGradient"})
        >>> watched.name, watched.rule.name, watched.scope.on_fire
        ('mine', 'vanishing_gradient', 'stop')
    """
    rule = parameters.get(_NAME, name)
    others = [key for key in parameters if OTHER_TRIAL.fullmatch(key)]
    others.sort(key=lambda key: int(key.rpartition("_")[2]))
    known = {
        key: value for key, value in parameters.items() if key not in (_NAME, *_IMPLICIT, *others)
    }
    if others:
        known["other_trials"] = ",".join(parameters[key] for key in others)
    try:
        gather = getattr(find_rule(rule), "gathered", dict)
        watched = build(rule, {"profile": "compat", **gather(known)})
    except ConfigError as error:
        raise ConfigError(f"rule configuration {name!r}: {error}") from None
    return replace(watched, label=name)


def compat_name(watched: Watched) -> str:
    """Return what SageMaker calls a rule.

    Example:
        >>> compat_name(compat_rule("mine", {"rule_to_invoke": "nlp_sequence_ratio"}))
        'NLPSequenceRatio'
    """
    return find_rule(watched.rule.name).__name__


class Standing(Protocol):
    """How a rule stands, whoever noted it."""

    @property
    def status(self) -> str:
        """One of ``watch.RuleStatus``, or ``Stopping``."""

    @property
    def details(self) -> str:
        """Why."""


def compat_status(status: Standing) -> tuple[str, str]:
    """Return ``RuleEvaluationStatus`` and ``StatusDetails`` of a rule.

    A rule that judged nothing is an ``Error`` with the code ``NOT_EVALUATED``: it must not look
    like one that found nothing. ``CONFIG`` and ``INTERNAL`` are the codes of those that raised.

    Example:
        >>> from stepwatch.judge.engine import RuleStatus
        >>> compat_status(RuleStatus("overfit", "NotEvaluated", 0, 0, "no loss was seen"))
        ('Error', 'NOT_EVALUATED: no loss was seen')
    """
    details = status.details
    if status.status == "NotEvaluated":
        details = f"NOT_EVALUATED: {details}"
    elif status.status == "Error":
        code = "CONFIG" if details.startswith(ConfigError.__name__) else "INTERNAL"
        details = f"{code}: {details}"
    kind = "Error" if status.status == "NotEvaluated" else status.status
    return kind, details[:_MOST_DETAILS]


def compat_message(rule: str, step: int) -> str:
    """Return what SageMaker says of every finding, whatever was found.

    Args:
        rule: The rule, as SageMaker calls it.
        step: The global step.
    """
    return (
        f"RuleEvaluationConditionMet: Evaluation of the rule {rule} at step {step} resulted in"
        " the condition being met"
    )
