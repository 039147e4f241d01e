"""The verdict on a run: its chains, where an earlier cause could lie, and all of it as text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..formats.proofs import Proof
from ..model.collection import STAGES
from ..model.finding import SEVERITIES, Finding
from ..model.html_text import html_table
from ..model.subjects import subject_of
from ..numerics.measures import listed
from ..plugins import registry
from .advice import advise
from .headline import Headline, RunState, headline, rule_outcomes
from .parameters import GROUP
from .root_cause import Chain, StepOrder, chains, earlier_rules, sign_of
from .rule_runner import SEEN, RuleStatus

if TYPE_CHECKING:
    from ..trial import Trial

INCONCLUSIVE = ("NotEvaluated", "Error", "Stopped")


@dataclass(frozen=True, slots=True)
class BlindSpots:
    """Where an earlier cause of a chain could still lie.

    Args:
        could_not_judge: Rules that could have named it and lacked data, with the reason.
        not_asked: Rules that could have named it and were not used.
        not_captured: Collections of stages before the cause of which nothing was captured.
        workers_not_seen: Of how many workers of the training there are no records.
    """

    could_not_judge: tuple[tuple[str, str], ...] = ()
    not_asked: tuple[str, ...] = ()
    not_captured: tuple[str, ...] = ()
    workers_not_seen: int = 0

    def lines(self, most: int = 3) -> list[str]:
        """Return it as text, naming ``most`` rules at most in a line.

        Example:
            >>> BlindSpots(not_asked=("loss_input",), workers_not_seen=1).lines()
            ['not asked: loss_input', '1 worker was not seen']
        """
        known = self.could_not_judge[:most]
        texts = [f"{rule} lacked data: {why.partition(SEEN)[0]}" for rule, why in known]
        more = len(self.could_not_judge) - most
        texts += [f"{more} more rules lacked data"] if more > 0 else []
        if self.not_asked:
            more = len(self.not_asked) - most
            also = f" and {more} more" if more > 0 else ""
            texts.append(f"not asked: {', '.join(self.not_asked[:most])}{also}")
        if self.not_captured:
            texts.append(f"not captured: {', '.join(self.not_captured)}")
        if self.workers_not_seen:
            are = "worker was" if self.workers_not_seen == 1 else "workers were"
            texts.append(f"{self.workers_not_seen} {are} not seen")
        return texts


def blind_spots(
    chain: Chain,
    statuses: Sequence[RuleStatus],
    order: StepOrder,
    *,
    workers_not_seen: int = 0,
    installed: Iterable[str] = (),
) -> BlindSpots:
    """Return what was not checked of a chain.

    Args:
        chain: The chain.
        statuses: Of all rules that were used.
        order: The tensors of the run.
        workers_not_seen: Of how many workers there are no records.
        installed: The rules that could be used.
    """
    earlier = earlier_rules(sign_of(chain.cause))
    evaluated = {status.rule for status in statuses}
    stages = range(min(order.stage(chain.cause.tensor), len(STAGES)))
    return BlindSpots(
        could_not_judge=tuple(
            (status.rule, status.details)
            for status in statuses
            if status.status in INCONCLUSIVE and not status.idle and status.rule in earlier
        ),
        not_asked=tuple(rule for rule in earlier if rule in {*installed} - evaluated),
        not_captured=tuple(filter(None, map(order.missing, stages))),
        workers_not_seen=workers_not_seen,
    )


#: Of the document of ``Verdict.to_dict``; it grows when a key changes its meaning or goes.
SCHEMA_VERSION = 2


@dataclass(frozen=True)
class Verdict:
    """The findings of rules in a run, by their causes, and the statuses of the rules.

    Args:
        run: Its path or URL, for readers.
        findings: All of them.
        statuses: Of each rule.
        order: The tensors of the run.
        workers_not_seen: Of how many workers there are no records.
        state: How the run stands.
        replayable: The TRAIN steps that can be run again; ``None`` if that is not known.
        proofs: What ``stepwatch prove`` has shown of findings, by their IDs.
        raw: The collections of which full values were asked for.
    """

    run: str
    findings: Sequence[Finding]
    statuses: Sequence[RuleStatus]
    order: StepOrder
    workers_not_seen: int = 0
    state: RunState = field(default_factory=RunState)
    replayable: Container[int] | None = None
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    raw: frozenset[str] = frozenset()
    script: str = "SCRIPT"

    def proof(self, chain: Chain) -> Proof | None:
        """Return what is proved of the cause of a chain; ``None`` where nobody tried."""
        return self.proofs.get(chain.cause.finding_id)

    def confirm(self, chain: Chain) -> str:
        """Return what would confirm the cause of a chain, one line."""
        known = self.order.tensors or None
        return chain.confirm(
            self.run, self.replayable, tensors=known, raw=self.raw, script=self.script
        )

    @cached_property
    def chains(self) -> list[Chain]:
        """The findings by what they follow from, the most severe first."""
        return chains(self.findings, self.order)

    @cached_property
    def marked(self) -> list[Finding]:
        """The findings as figures mark them."""
        return marked(self.chains)

    @cached_property
    def headline(self) -> Headline:
        """How the run stands, in one sentence: all that shows a run begins with it."""
        return headline(self.state, self.chains, self.statuses)

    @property
    def exit_status(self) -> int:
        """1 where something was found, or the training did not end by itself; else 0."""
        return 1 if self.findings or self.headline.outcome == "failed" else 0

    def blind_spots(self, chain: Chain) -> BlindSpots:
        """Return where an earlier cause of a chain could still lie."""
        return blind_spots(
            chain,
            self.statuses,
            self.order,
            workers_not_seen=self.workers_not_seen,
            installed=registry.names(GROUP),
        )

    def _repr_html_(self) -> str:
        head = self.headline
        rows = [
            (one.severity, one.cause.where(), one.cause.rule, one.cause.message, len(one.findings))
            for one in self.chains
        ]
        facts = [("run", self.run), ("what to do", head.remedy)]
        headings = ("severity", "where", "rule", "what was found first", "findings")
        causes = html_table("Causes", rows, headings) if rows else ""
        return html_table(f"{head.mark} {head.text}", [one for one in facts if one[1]]) + causes

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data of JSON's types."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "headline": self.headline.to_json(),
            "verdict": self.headline.outcome,
            "advice": asdict(advise(self.headline)),
            "exit_status": self.exit_status,
            "chains": [self._chain(chain) for chain in self.chains],
            "not_checked": [
                status_fields(status) for status in self.statuses if status.status in INCONCLUSIVE
            ],
            "findings": [finding.to_dict() for finding in self.findings],
            "rules": [status_fields(status) for status in self.statuses],
        }

    def document(self, trial: Trial) -> dict[str, object]:
        """Return the same with the URL, the state and the number of steps of its run."""
        about = {"run": trial.url, "state": trial.state, "steps": len(trial.steps())}
        return {**self.to_dict(), **about}

    def _chain(self, chain: Chain) -> dict[str, object]:
        proof = self.proof(chain)
        return {
            "severity": chain.severity,
            "cause": chain.cause.to_dict(),
            "remedy": chain.cause.remedy,
            "confirm": self.confirm(chain),
            "proof": None if proof is None else proof.to_dict(),
            "consequences": [
                {**one.finding.to_dict(), "certain": one.certain} for one in chain.consequences
            ],
            "finding_ids": [finding.finding_id for finding in chain.findings],
            "not_checked": asdict(self.blind_spots(chain)),
        }


def status_fields(status: RuleStatus) -> dict[str, object]:
    """Return the status of a rule as plain data, with its outcome."""
    return {**asdict(status), "outcome": status.outcome}


def plural(count: int, what: str) -> str:
    """Return a count with its noun.

    Example:
        >>> plural(1, "step"), plural(3, "step")
        ('1 step', '3 steps')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"


def not_evaluated(statuses: Sequence[RuleStatus]) -> list[str]:
    """Return a line for each reason why rules lacked data or failed; one for the rest.

    What the run had instead is said once, as it is the same for all.

    Example:
        >>> why = "no step had a tensor of loop; seen were 3 TRAIN steps"
        >>> lacking = [RuleStatus(one, "NotEvaluated", 0, 0, why) for one in ("a", "b")]
        >>> not_evaluated(lacking)
        ['a, b lacked data: no step had a tensor of loop', 'seen were 3 TRAIN steps']
    """
    by_rule = {status.rule: status for status in reversed(statuses)}
    outcomes = rule_outcomes(statuses)
    rules: dict[tuple[str, str], list[str]] = {}
    seen: dict[str, None] = {}
    for rule, outcome in outcomes.items():
        if outcome in ("lacked data", "failed"):
            why, _, there = by_rule[rule].details.partition(SEEN)
            rules.setdefault((outcome, why), []).append(rule)
            seen.update({f"{SEEN[2:]}{there}": None} if there else {})
    lines = [f"{', '.join(names)} {outcome}: {why}" for (outcome, why), names in rules.items()]
    idle = [rule for rule, outcome in outcomes.items() if outcome == "does not apply"]
    return [*lines, *seen, *([f"do not apply: {', '.join(idle)}"] if idle else [])]


def consequence_lines(chain: Chain) -> list[str]:
    """Return what follows from a cause and what may, a line each, counted by title.

    Example:
        >>> from stepwatch.judge.root_cause import Consequence
        >>> spikes = [Finding("loss_spike", step, "loss/L", "") for step in (7, 9)]
        >>> overfit = [Finding("overfit", 8, name, "") for name in ("loss/L", "loss/M")]
        >>> cause = Finding("stale_gradients", 5, "", "")
        >>> later = tuple(Consequence(one, False) for one in (*spikes, *overfit))
        >>> consequence_lines(Chain(cause, later))
        ['may follow from it: loss spike (2 times, steps 7 to 9), overfitting (step 8)']
    """
    lines = []
    for certain, how in ((True, "follows from it"), (False, "may follow from it")):
        steps: dict[str, list[int]] = {}
        for one in chain.consequences:
            if one.certain is certain:
                steps.setdefault(one.finding.title, []).append(one.finding.train_step)
        if steps:
            lines.append(f"{how}: {', '.join(_counted(title, at) for title, at in steps.items())}")
    return lines


@dataclass(frozen=True, slots=True)
class Episodes:
    """Chains of one cause, which was found several times.

    Args:
        chain: The first, with what followed from all of them.
        steps: At which steps the cause was found.
        subjects: In what it was found, such as layers, in that order.
    """

    chain: Chain
    steps: tuple[int, ...]
    subjects: tuple[str, ...] = ()

    @property
    def again(self) -> str:
        """How often it was found, and in what; ``""`` where it was once."""
        texts = []
        if len(self.subjects) > 1:
            texts.append(f"in {listed(list(self.subjects))}")
        if len(self.steps) > len(self.subjects):
            first, last = min(self.steps), max(self.steps)
            times = plural(len(self.steps), "time")
            texts.append(f"{times}, step{f's {first} to {last}' if last > first else f' {first}'}")
        return ": ".join(texts) if len(self.steps) > 1 else ""

    def lines(self) -> list[str]:
        """Return how often it was found, and what follows, as text."""
        return [*filter(None, [self.again]), *consequence_lines(self.chain)]


def episodes(found: Iterable[Chain]) -> list[Episodes]:
    """Put chains together whose causes are the same condition of one worker, in any tensor.

    Of these the first of those that are most severe is told.

    Args:
        found: In an order that is kept; a cause stands where it was first.

    Example:
        >>> found = [Finding("chance_level", step, "loss/L", "") for step in (400, 900)]
        >>> episodes(Chain(one) for one in found)[0].lines()
        ['2 times, steps 400 to 900']
    """
    same: dict[tuple[str, ...], list[Chain]] = {}
    for chain in found:
        same.setdefault(_condition(chain.cause), []).append(chain)
    merged = []
    for condition, parts in same.items():
        steps = [part.cause.train_step for part in parts]
        rest = []
        heading = _heading(parts[0].cause)
        for one in (one for part in parts for one in part.consequences):
            # A sign may follow from itself, and from another that is told in the same words.
            if _condition(one.finding) == condition or _heading(one.finding) == heading:
                steps.append(one.finding.train_step)
            else:
                rest.append(one)
        words = (subject_of(part.cause.tensor).words for part in parts)
        subjects = tuple(dict.fromkeys(one for one in words if one))
        worst = max(parts, key=lambda part: SEVERITIES.index(part.cause.severity))
        merged.append(Episodes(Chain(worst.cause, tuple(rest)), tuple(steps), subjects))
    return merged


def marked(found: Iterable[Chain]) -> list[Finding]:
    """Return findings as figures mark them: causes as they are listed, then what followed.

    Example:
        >>> from stepwatch.judge.root_cause import Consequence
        >>> nan = Consequence(Finding("exploding_tensor", 4, "w", ""), False)
        >>> spike, overfit = Finding("loss_spike", 3, "", ""), Finding("overfit", 9, "", "")
        >>> [one.rule for one in marked([Chain(spike, (nan,)), Chain(overfit)])]
        ['loss_spike', 'overfit', 'exploding_tensor']
    """
    known = list(found)
    followed = (one.finding for chain in known for one in chain.consequences)
    return [*(chain.head for chain in known), *followed]


def _condition(finding: Finding) -> tuple[str, ...]:
    kind = finding.condition.replace(finding.tensor, "") if finding.tensor else finding.condition
    why = str(finding.evidence.get("cause", ""))
    return finding.rule, kind, why, finding.worker


def _heading(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.title, finding.worker


def _counted(title: str, steps: Sequence[int]) -> str:
    if len(set(steps)) == 1:  # of several tensors at one step
        return f"{title} (step {steps[0]})"
    return f"{title} ({len(steps)} times, steps {min(steps)} to {max(steps)})"
