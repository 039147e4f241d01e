"""What profiler rules say of a run, for the profiler report."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .. import registry
from ..finding import Finding
from ..rules.judgement import Judgement
from ..rules.parameters import GROUP, Spec, parse_rules
from ..rules.places import Places
from ..rules.profile import PROFILE_RULES
from ..rules.scope import Watched
from ..rules.unchecked import NOT_JUDGED
from ..rules.watch import Watch
from ..trial import Trial
from .document import Block, Cause, Table, Text

#: They find nothing; what they are about has sections of its own.
_OVERALL = ("overall_system_usage", "overall_framework_metrics")
#: What to do where a rule finds something.
ADVICE: Mapping[str, str] = {
    "cpu_bottleneck": "Load data with more processes, and let them fetch ahead.",
    "io_bottleneck": "Fetch ahead, and keep data in few binary files.",
    "dataloader": "Load data with more processes, or with fewer.",
    "gpu_memory_increase": "Take a larger GPU if this one is nearly full; look for what is kept.",
    "batch_size": "Take a larger batch, or a smaller machine.",
    "low_gpu_utilization": "Avoid calls that block, take a larger batch, divide work otherwise.",
    "max_initialization_time": "Stream the data rather than fetching all of it first.",
    "load_balancing": "Divide the work otherwise between the GPUs.",
    "step_outlier": "Look at what else ran then: checkpoints, busy cores, I/O.",
}


@dataclass(frozen=True)
class RuleFacts:
    """What is said of one rule, in the words of SageMaker's files.

    Args:
        rule: Its name.
        triggered: How many findings it had.
        datapoints: How many readings, or steps, it looked at.
        parameters: With which it judged.
        details: The numbers behind its judgement.
    """

    rule: str
    triggered: int
    datapoints: int
    parameters: Mapping[str, object]
    details: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return it under SageMaker's keys."""
        return {
            "RuleTriggered": self.triggered,
            "Violations": self.triggered,
            "Datapoints": self.datapoints,
            "RuleParameters": dict(self.parameters),
            "Details": dict(self.details),
        }


@dataclass(frozen=True)
class ProfileJudgement(Judgement):
    """What profiler rules say, and with what they judged.

    Args:
        facts: Of each rule, by its name.
    """

    facts: Mapping[str, RuleFacts] = field(default_factory=dict)


def judged_profile(trial: Trial, rules: Sequence[Spec] | None = None) -> ProfileJudgement:
    """Let profiler rules judge a run.

    Args:
        trial: The run.
        rules: With other parameters than usual, or other rules; all that there are by default.
    """
    watched = parse_rules(PROFILE_RULES if rules is None else rules)
    engine = Watch(watched)
    findings = [*engine.scan(trial.profile, ended=True), *engine.finish()]
    found = {one.name: _facts(one, findings) for one in watched}
    return ProfileJudgement(trial.url, findings, engine.statuses(), Places(), facts=found)


def _facts(watched: Watched, findings: Sequence[Finding]) -> RuleFacts:
    rule = watched.rule
    names = [name for name in inspect.signature(type(rule)).parameters if hasattr(rule, name)]
    details = getattr(rule, "details", dict)
    return RuleFacts(
        watched.name,
        sum(finding.rule == watched.name for finding in findings),
        int(getattr(rule, "datapoints", 0)),
        {name: getattr(rule, name) for name in names},
        details(),
    )


def rules_summary(judgement: Judgement) -> Iterator[Block]:
    """Yield a table of the rules, those that found most on top."""
    facts = judgement.facts if isinstance(judgement, ProfileJudgement) else {}
    told = [one for one in facts.values() if one.rule not in _OVERALL]
    told.sort(key=lambda one: -one.triggered)
    if not told:
        yield Text("No profiler rule was asked.", "note")
        return
    if told[0].triggered:
        yield Text(f"{told[0].rule} found most: {ADVICE.get(told[0].rule, '')}".rstrip(": "))
    columns = ("rule", "what it looks for", "what to do", "triggered", "datapoints", "parameters")
    rows = tuple(
        (
            one.rule,
            _description(one.rule),
            ADVICE.get(one.rule, ""),
            one.triggered,
            one.datapoints,
            ", ".join(f"{name}={value}" for name, value in one.parameters.items()),
        )
        for one in told
    )
    yield Table(columns, rows)


def of_rule(judgement: Judgement, rule: str) -> Iterator[Block]:
    """Yield what a rule found, or that it found nothing, or why it could not judge."""
    found = [finding for finding in judgement.findings if finding.rule == rule]
    for finding in found[-3:]:
        yield Cause(finding, (), "", (finding.finding_id,))
    if len(found) > 3:
        yield Text(f"{len(found) - 3} earlier findings of {rule} are not shown.", "note")
    for status in judgement.statuses:
        if status.rule != rule or found:
            continue
        if status.status in NOT_JUDGED:
            yield Text(f"{rule} could not judge: {status.details}.", "note")
        else:
            yield Text(f"{rule} found nothing: {status.details}.")


def _description(rule: str) -> str:
    """Return the first sentence of what a rule says of itself."""
    try:
        return (inspect.getdoc(registry.load(GROUP, rule)) or "").partition("\n")[0]
    except Exception:  # noqa: BLE001  the rule of a plug-in, under a name of its own
        return ""
