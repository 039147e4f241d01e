"""What the outcomes amount to."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepwatch.model.finding import Finding

from .causes import CAUSES
from .outcome import Outcome
from .program import Program

#: The split into halves: written down once, never changed.
SPLIT = "rulebench-1"
HALVES = ("tuning", "scored")


def half_of(program: str, seed: int) -> str:
    """Return the half to which a program with a seed belongs, ``tuning`` or ``scored``.

    Rules may be looked at and changed by what they do in the first. The second is only scored.
    """
    digest = hashlib.blake2b(f"{SPLIT} {program} {seed}".encode(), digest_size=1).digest()
    return HALVES[digest[0] % 2]


@dataclass(frozen=True)
class Verdict:
    """One outcome, held against what is known of its program.

    Args:
        program: What was trained.
        outcome: What the rules said.
        alarms: Findings that are warnings or errors, since the fault began.
        false_alarms: Such findings where nothing is wrong, or not yet.
        right: Findings that name the cause, of any severity.
        delay: TRAIN steps from the fault to the first alarm or right finding; ``None`` for never.
        right_delay: TRAIN steps from the fault to the first that names it.
    """

    program: Program
    outcome: Outcome
    alarms: tuple[Finding, ...]
    false_alarms: tuple[Finding, ...]
    right: tuple[Finding, ...]
    delay: int | None
    right_delay: int | None

    @classmethod
    def of(cls, program: Program, outcome: Outcome) -> Verdict:
        """Return the verdict on an outcome."""
        begins = program.begins if program.cause else float("inf")
        since = [(finding, at) for finding, at in outcome.found() if at >= begins]
        early = [finding for finding, at in outcome.found() if at < begins]
        cause = CAUSES.get(program.cause)
        right = [(finding, at) for finding, at in since if cause and cause.is_named_by(finding)]
        alarms = [(finding, at) for finding, at in since if _is_alarm(finding)]
        return cls(
            program,
            outcome,
            tuple(finding for finding, _ in alarms),
            tuple(finding for finding in early if _is_alarm(finding)),
            tuple(finding for finding, _ in right),
            min((at - program.begins for _, at in [*alarms, *right]), default=None),
            min((at - program.begins for _, at in right), default=None),
        )

    @property
    def detected(self) -> bool:
        """Whether anything was said after the fault began."""
        return self.delay is not None

    @property
    def named(self) -> bool:
        """Whether the cause was named."""
        return self.right_delay is not None

    @property
    def could_not_check(self) -> bool:
        """Whether every rule that is there and could name the cause could not judge."""
        rules = CAUSES[self.program.cause].rules if self.program.cause else frozenset()
        states = [self.outcome.statuses[rule] for rule in rules if rule in self.outcome.statuses]
        return bool(states) and all(state in ("NotEvaluated", "Error") for state in states)

    @property
    def has_rule(self) -> bool:
        """Whether a rule that could name the cause was asked."""
        return bool(CAUSES[self.program.cause].rules & self.outcome.statuses.keys())


def _is_alarm(finding: Finding) -> bool:
    return finding.severity != "info"


@dataclass(frozen=True)
class Score:
    """Some verdicts in numbers.

    Args:
        faulty: How many trainings with a fault there were.
        detected: Of them, how many raised an alarm.
        named: How many had a finding that names the cause.
        no_rule: Of how many causes no rule that was asked could know.
        could_not_check: In how many the rules that could know lacked evidence.
        delay: TRAIN steps from fault to alarm, the median; ``None`` if there was none.
        right_delay: The same to the finding that names the cause.
        healthy: How many healthy trainings there were.
        accused: Of them, how many raised an alarm.
        false_alarms: How many alarms they raised together.
    """

    faulty: int
    detected: int
    named: int
    no_rule: int
    could_not_check: int
    delay: float | None
    right_delay: float | None
    healthy: int
    accused: int
    false_alarms: int

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Score:
        """Count."""
        verdicts = list(verdicts)
        faulty = [verdict for verdict in verdicts if verdict.program.cause]
        healthy = [verdict for verdict in verdicts if not verdict.program.cause]
        return cls(
            len(faulty),
            sum(verdict.detected for verdict in faulty),
            sum(verdict.named for verdict in faulty),
            sum(not verdict.has_rule for verdict in faulty),
            sum(verdict.could_not_check and not verdict.named for verdict in faulty),
            _median([verdict.delay for verdict in faulty]),
            _median([verdict.right_delay for verdict in faulty]),
            len(healthy),
            sum(bool(verdict.false_alarms) for verdict in healthy),
            sum(len(verdict.false_alarms) for verdict in healthy),
        )


@dataclass(frozen=True)
class RuleScore:
    """One rule in numbers.

    Args:
        rule: Its name.
        found: In how many faulty trainings it found something.
        named: In how many of them that names the cause.
        could: In how many a finding of it could have named the cause.
        accused: In how many healthy trainings it raised an alarm.
        healthy: How many healthy trainings there were.
        not_evaluated: In how many trainings of all it could not judge.
        errors: In how many it raised.
    """

    rule: str
    found: int
    named: int
    could: int
    accused: int
    healthy: int
    not_evaluated: int
    errors: int

    @classmethod
    def of(cls, rule: str, verdicts: Sequence[Verdict]) -> RuleScore:
        """Count."""
        faulty = [verdict for verdict in verdicts if verdict.program.cause]
        healthy = [verdict for verdict in verdicts if not verdict.program.cause]
        states = Counter(verdict.outcome.statuses.get(rule) for verdict in verdicts)
        return cls(
            rule,
            sum(_has(verdict.alarms, rule) or _has(verdict.right, rule) for verdict in faulty),
            sum(_has(verdict.right, rule) for verdict in faulty),
            sum(rule in CAUSES[verdict.program.cause].rules for verdict in faulty),
            sum(_has(verdict.false_alarms, rule) for verdict in healthy),
            len(healthy),
            states["NotEvaluated"],
            states["Error"],
        )


def _has(findings: Iterable[Finding], rule: str) -> bool:
    return any(finding.rule == rule for finding in findings)


def _median(delays: Iterable[int | None]) -> float | None:
    known = [delay for delay in delays if delay is not None]
    return statistics.median(known) if known else None
