"""The rule that runs all other profiler rules and writes a report."""

from __future__ import annotations

import inspect

from stepwatch.errors import nearest

from ..errors import InvalidParameter, UnknownParameter
from . import rules
from .rules import ProfilerRuleBase

# All but those without parameters of their own.
_RULES = {
    name.lower(): rule
    for name, rule in vars(rules).items()
    if isinstance(rule, type)
    and issubclass(rule, ProfilerRuleBase)
    and rule is not ProfilerRuleBase
}
#: Documented as a switch against telemetry. There is none, so it says nothing.
_WITHOUT_MEANING = "opt_out_telemetry"


class ProfilerReport(ProfilerRuleBase):
    """Run all profiler rules and write a report.

    Args:
        rule_parameters: Parameters of those rules as ``<Rule>_<parameter>``, the rule in any
            case.

    Raises:
        InvalidParameter: A name that is not of this form, no such rule, or a wrong value.
        UnknownParameter: The rule has no such parameter.

    Example:
        >>> ProfilerReport(CPUBottleneck_gpu_threshold=60).rule_parameters
        {'CPUBottleneck_gpu_threshold': 60, 'rule_to_invoke': 'ProfilerReport'}
    """

    def __init__(self, **rule_parameters: object) -> None:
        rule_parameters.pop(_WITHOUT_MEANING, None)
        for name, value in rule_parameters.items():
            _check(name, value)
        super().__init__(**rule_parameters)


def _check(name: str, value: object) -> None:
    rule_name, separator, parameter = name.partition("_")
    if not separator:
        raise InvalidParameter(f"{name!r} must be a rule and its parameter: <Rule>_<parameter>")
    rule = _RULES.get(rule_name.lower())
    if rule is None:
        known = [one.__name__ for one in _RULES.values()]
        raise InvalidParameter(
            f"no profiler rule {rule_name!r} (of {name!r}); there are {', '.join(sorted(known))}"
            f"{nearest(rule_name, known)}"
        )
    accepted = list(inspect.signature(rule).parameters)
    if parameter not in accepted:
        raise UnknownParameter(
            f"{rule.__name__} has no parameter {parameter!r}; it has {', '.join(accepted)}"
            f"{nearest(parameter, accepted)}"
        )
    rule(**{parameter: value})  # it checks the value
