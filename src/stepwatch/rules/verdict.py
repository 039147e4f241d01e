"""The verdict in words: what was found, and what was not judged and why."""

from __future__ import annotations

from collections.abc import Sequence

from ..finding import Finding
from .chain import Chain
from .unchecked import NOT_JUDGED
from .watch import RuleStatus


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
    open_ = sum(status.status in NOT_JUDGED and not status.idle for status in statuses)
    idle = sum(status.idle for status in statuses)
    if findings:
        first = plural(len(findings), "finding")
    elif not statuses:
        return "no rules were asked"
    elif not silent:
        first = "nothing could be judged"
    else:
        first = "no findings"
    told = [f"{plural(silent, 'rule')} found nothing"]
    told += [f"{open_} could not judge"] if open_ else []
    told += [f"{idle} had nothing to judge"] if idle else []
    return f"{first}; {', '.join(told)}"


def not_judged(statuses: Sequence[RuleStatus]) -> list[str]:
    """Return a line for each rule that could not judge, with the reason; one for the idle."""
    lines = [
        f"{status.rule} ({status.status}): {status.details}"
        for status in statuses
        if status.status in NOT_JUDGED and not status.idle
    ]
    idle = [f"{status.rule} ({status.details})" for status in statuses if status.idle]
    if idle:
        lines.append(f"nothing to judge (NotEvaluated): {', '.join(idle)}")
    return lines


def followed(chain: Chain) -> list[str]:
    """Return what follows from a cause and what may, a line each, counted by rule.

    Example:
        >>> from stepwatch.rules.chain import Consequence
        >>> spikes = [Finding("loss_spike", step, "loss/L", "") for step in (7, 9)]
        >>> cause = Finding("stale_gradients", 5, "", "")
        >>> followed(Chain(cause, tuple(Consequence(spike, False) for spike in spikes)))
        ['may follow from it: 2 loss_spike (steps 7 to 9)']
    """
    lines = []
    for certain, words in ((True, "follows from it"), (False, "may follow from it")):
        steps: dict[str, list[int]] = {}
        for one in chain.consequences:
            if one.certain is certain:
                steps.setdefault(one.finding.rule, []).append(one.finding.step)
        if steps:
            lines.append(f"{words}: {', '.join(_counted(rule, at) for rule, at in steps.items())}")
    return lines


def _counted(rule: str, steps: Sequence[int]) -> str:
    if len(steps) == 1:
        return f"{rule} (step {steps[0]})"
    return f"{len(steps)} {rule} (steps {min(steps)} to {max(steps)})"
