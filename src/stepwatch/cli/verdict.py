"""The verdict in words: what was found, and what was not judged and why."""

from __future__ import annotations

from collections.abc import Sequence

from ..finding import Finding
from ..rules.watch import RuleStatus

_NOT_JUDGED = ("NotEvaluated", "Error", "Stopped")


def plural(count: int, what: str) -> str:
    """Return a count with its noun.

    Example:
        >>> plural(1, "step"), plural(3, "step")
        ('1 step', '3 steps')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"


def headline(findings: Sequence[Finding], statuses: Sequence[RuleStatus]) -> str:
    """Return the verdict in one line; never green for what was not judged."""
    silent = sum(status.status == "NoIssuesFound" for status in statuses)
    open_ = sum(status.status in _NOT_JUDGED for status in statuses)
    if findings:
        first = plural(len(findings), "finding")
    elif not statuses:
        return "no rules were asked"
    elif not silent:
        first = "nothing could be judged"
    else:
        first = "no findings"
    judged = f"{plural(silent, 'rule')} found nothing"
    return f"{first}; {judged}, {open_} could not judge" if open_ else f"{first}; {judged}"


def not_judged(statuses: Sequence[RuleStatus]) -> list[str]:
    """Return a line for each rule that could not judge, with the reason."""
    return [
        f"{status.rule} ({status.status}): {status.details}"
        for status in statuses
        if status.status in _NOT_JUDGED
    ]
