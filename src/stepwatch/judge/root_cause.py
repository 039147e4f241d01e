"""Chains: what began it on top, and beneath it what followed, in place of forty alarms.

The rule on which this is correct: a finding follows from another only if there is a link of
``causal_links`` and the other is before it in one order of all findings (when it began, then the
stage of the step, then the order of execution). So there is no circle, and the same findings give
the same chains, whatever the order they came in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..model.collection import STAGES
from ..model.finding import SEVERITIES, Finding
from .causal_links import LINKS, SIGNS, Link, StepOrder, sign_of


@dataclass(frozen=True, slots=True)
class Consequence:
    """A finding that follows from another.

    Args:
        finding: What was found.
        certain: Whether it follows; else it may.
    """

    finding: Finding
    certain: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """One cause and what came of it.

    Args:
        cause: The first finding: of the earliest step, of the earliest stage of that, and there
            the first that was executed.
        consequences: The others, in the order in which they happened.
    """

    cause: Finding
    consequences: tuple[Consequence, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The cause, and all that follows."""
        return (self.cause, *(one.finding for one in self.consequences))

    @property
    def severity(self) -> str:
        """The worst severity of its findings."""
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index)

    def confirm(self, run: str = "RUN") -> str:
        """Return what would confirm the cause, one line.

        Args:
            run: Where the run lies.
        """
        cause = self.cause
        mode_step = cause.step if cause.mode_step is None else cause.mode_step
        line = SIGNS[sign_of(cause)].confirm
        if not cause.tensor and "{tensor}" in line:
            line = "run the step again: stepwatch replay {run} --step {step}"
        return line.format(run=run, step=cause.step, mode_step=mode_step, tensor=cause.tensor)


def chains(findings: Iterable[Finding], order: StepOrder | None = None) -> list[Chain]:
    """Group findings by what they follow from.

    Args:
        findings: In any order; one that is there twice counts once.
        order: The tensors of the run, for the order of execution. What is not known of them
            speaks against no link.

    Returns:
        The most severe first, then in the order in which they began. Every finding is in one
        chain.
    """
    found = _members(_Search(findings, order or StepOrder()))
    return sorted(found, key=lambda chain: -SEVERITIES.index(chain.severity))


@dataclass(frozen=True, order=True)
class _Ranked:
    """A finding in the one order of all of them."""

    began: int
    stage: int
    position: int
    step: int
    finding_id: str
    finding: Finding = field(compare=False)
    sign: str = field(compare=False)


class _Search:
    def __init__(self, findings: Iterable[Finding], order: StepOrder) -> None:
        self._order = order
        known = {finding.finding_id: finding for finding in findings}
        self.ranked = sorted(self._rank(name, finding) for name, finding in known.items())
        self._of_sign: dict[str, list[_Ranked]] = {}
        for one in self.ranked:
            self._of_sign.setdefault(one.sign, []).append(one)

    def cause_of(self, one: _Ranked) -> tuple[_Ranked, bool] | None:
        """Return what a finding follows from, the first of what is certain; and if it is."""
        best: tuple[bool, _Ranked] | None = None
        for link in LINKS:
            cause = self._first(link, one) if link.effect == one.sign else None
            if cause is not None:
                workers = {cause.finding.worker, one.finding.worker} - {""}
                found = not link.certain or len(workers) > 1, cause
                best = found if best is None else min(best, found)
        return None if best is None else (best[1], not best[0])

    def _rank(self, finding_id: str, finding: Finding) -> _Ranked:
        name = sign_of(finding)
        sign = SIGNS[name]
        return _Ranked(
            max(0, finding.step - sign.late),
            STAGES.index(sign.stage) if sign.stage else self._order.stage(finding.tensor),
            self._order.position(finding.tensor),
            finding.step,
            finding_id,
            finding,
            name,
        )

    def _first(self, link: Link, effect: _Ranked) -> _Ranked | None:
        """Return the first finding that the effect follows from by a link."""
        causes = self._of_sign.get(link.cause, [])
        sign = SIGNS[link.cause]
        oldest = 0
        if sign.reach is not None:
            earliest = effect.finding.step - sign.reach - sign.late
            oldest = bisect_left(causes, earliest, key=lambda cause: cause.began)
        for cause in causes[oldest:]:
            if not cause < effect:
                break
            if link.relation(cause.finding, effect.finding, self._order):
                return cause
        return None


def _members(search: _Search) -> list[Chain]:
    """Return the chains in the order of their causes."""
    roots: dict[str, tuple[Finding, bool]] = {}
    consequences: dict[str, list[Consequence]] = {}
    for one in search.ranked:  # a cause comes before what follows from it
        found = search.cause_of(one)
        if found is None:
            roots[one.finding_id] = one.finding, True
            consequences[one.finding_id] = []
        else:
            cause, certain = found
            root, all_certain = roots[cause.finding_id]
            roots[one.finding_id] = root, certain and all_certain
            consequence = Consequence(one.finding, certain and all_certain)
            consequences[root.finding_id].append(consequence)
    return [Chain(roots[name][0], tuple(rest)) for name, rest in consequences.items()]
