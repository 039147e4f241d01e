"""A run that several judge at once: each looks at every step, with some of the rules.

A rule knows nothing of the others. So what shares find, put in the order of steps and rules, is
what one ``Watch`` finds with all of them, wherever the shares were judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..finding import Finding
from .parameters import Spec, parse_rules
from .places import Places
from .profile.cut import Profile
from .step_view import StepView
from .watch import RuleStatus, Watch


@dataclass(frozen=True, slots=True)
class Share:
    """What some of the rules say of a run.

    Args:
        findings: Each after the number of steps before it and the place of its rule.
        statuses: Of each rule, after its place.
        places: The tensors that the run has.
    """

    findings: tuple[tuple[float, int, Finding], ...]
    statuses: tuple[tuple[int, RuleStatus], ...]
    places: Places


def judge_share(
    steps: Iterable[StepView],
    rules: Sequence[Spec],
    share: int = 0,
    of: int = 1,
    profile: Profile | None = None,
) -> Share:
    """Show all steps of a run, and its profile, to every ``of``-th rule.

    Args:
        steps: In order.
        rules: All of them, as for ``Watch``.
        share: Which rule is the first.
        of: How many shares there are.
        profile: Where the time went; ``None`` if that is not known.
    """
    watched = parse_rules(rules)
    place_of = {one.name: place for place, one in enumerate(watched)}
    watch = Watch(watched[share::of])
    findings: list[tuple[float, int, Finding]] = []
    places = Places()
    for number, step in enumerate(steps):
        for record in step.records:
            places.add(record.layout)
        findings += [(number, place_of[one.rule], one) for one in watch.look(step)]
    last = [] if profile is None else watch.scan(profile, ended=True)
    findings += [(math.inf, place_of[one.rule], one) for one in (*last, *watch.finish())]
    statuses = tuple((place_of[one.rule], one) for one in watch.statuses())
    return Share(tuple(findings), statuses, places)


def join_shares(shares: Sequence[Share]) -> tuple[list[Finding], list[RuleStatus], Places]:
    """Return what all shares of a run say, as if one had judged with all rules."""
    findings = sorted((one for share in shares for one in share.findings), key=lambda one: one[:2])
    statuses = sorted((one for share in shares for one in share.statuses), key=lambda one: one[0])
    return [one for *_, one in findings], [one for _, one in statuses], shares[0].places
