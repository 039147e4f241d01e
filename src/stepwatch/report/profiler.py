"""The profiler report: where the time and the machines went, and what profile rules find."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..judge.engine import Watch
from ..judge.evaluate import Progress, without_progress
from ..judge.headline import run_state
from ..judge.parameters import GROUP, Spec, parse_rules
from ..judge.root_cause import StepOrder
from ..judge.rule import PROFILE_RULES, Watched
from ..judge.verdict import INCONCLUSIVE, Verdict
from ..model.finding import Finding
from ..plugins import registry
from ..profile.analysis import JobTimes, job_times, operators
from ..profile.steps import step_times
from ..profile.usage import Machines
from ..trial import Trial
from ..trial.profile import Profile
from .document import Block, Cause, Report, Section, Table, Text
from .profiler_sections import (
    balance,
    batch_size,
    bottlenecks,
    by_phase,
    durations_chart,
    gpu_usage,
    loading,
    shares_chart,
    step_durations,
    usage_blocks,
)
from .run import cached_profile, of_sections, when

#: They find nothing; what they are about has sections of its own.
_OVERALL = ("overall_system_usage", "overall_framework_metrics")
_DISCLAIMER = "These are hints from what was measured, and no proof of what would make it faster."
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
    """How one rule judged a profile: what SageMaker writes into a file of each rule.

    Args:
        rule: Its name.
        triggered: How many findings it had.
        datapoints: How many readings, or steps, it evaluated.
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
class ProfileVerdict(Verdict):
    """What profile rules find, and by which numbers they judged.

    Args:
        facts: Of each rule, by its name.
    """

    facts: Mapping[str, RuleFacts] = field(default_factory=dict)


def evaluate_profile(trial: Trial, rules: Sequence[Spec] | None = None) -> ProfileVerdict:
    """Evaluate a run by profile rules.

    Args:
        trial: The run.
        rules: Other rules or parameters; by default all that there are.
    """
    watched = parse_rules(PROFILE_RULES if rules is None else rules)
    engine = Watch(watched)
    findings = [*engine.scan(trial.profile, ended=True), *engine.finish()]
    found = {one.name: _facts(one, findings) for one in watched}
    state = run_state(trial)
    return ProfileVerdict(
        trial.url, findings, engine.statuses(), StepOrder(), state=state, facts=found
    )


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


def rules_summary(verdict: Verdict) -> Iterator[Block]:
    """Yield a table of the rules, those that found most on top."""
    facts = verdict.facts if isinstance(verdict, ProfileVerdict) else {}
    judged = [one for one in facts.values() if one.rule not in _OVERALL]
    judged.sort(key=lambda one: -one.triggered)
    if not judged:
        yield Text("No profiler rule was asked.", "note")
        return
    if judged[0].triggered:
        yield Text(f"{judged[0].rule} found most: {ADVICE.get(judged[0].rule, '')}".rstrip(": "))
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
        for one in judged
    )
    yield Table(columns, rows)


def of_rule(verdict: Verdict, rule: str) -> Iterator[Block]:
    """Yield what a rule found, or that it found nothing, or why it could not judge."""
    found = [finding for finding in verdict.findings if finding.rule == rule]
    for finding in found[-3:]:
        yield Cause(finding, (), "", (finding.finding_id,))
    if len(found) > 3:
        yield Text(f"{len(found) - 3} earlier findings of {rule} are not shown.", "note")
    for status in verdict.statuses:
        if status.rule != rule or found:
            continue
        if status.status in INCONCLUSIVE:
            yield Text(f"{rule} could not judge: {status.details}.", "note")
        else:
            yield Text(f"{rule} found nothing: {status.details}.")


def _description(rule: str) -> str:
    """Return the first line of a rule's docstring."""
    try:
        return (inspect.getdoc(registry.load(GROUP, rule)) or "").partition("\n")[0]
    except Exception:  # noqa: BLE001  the rule of a plug-in, under a name of its own
        return ""


def suits(trial: Trial) -> bool:
    """Return whether anything was profiled."""
    return bool(trial.profile.machines or trial.profile.workers)


def report(
    trial: Trial,
    rules: Sequence[Spec] | None = None,
    *,
    shown: Progress = without_progress,  # noqa: ARG001
) -> Report:
    """Return where the time of a run went.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        shown: Shows how far judging is.
    """
    return of(trial, evaluate_profile(trial, rules))


def of(trial: Trial, verdict: Verdict) -> Report:
    """Return the report on a run that profile rules have judged."""
    profile = cached_profile(trial)
    machines = Machines(profile)
    job = job_times(profile, trial)
    sections = [
        Section("summary", "Training job summary", (*_summary(job),)),
        Section("system", "System usage statistics", (*_system(profile, machines),)),
        Section("framework", "Framework metrics summary", (*by_phase(profile),)),
        *_operators(trial),
        Section("rules", "Rules summary", (*rules_summary(verdict),)),
        *_training_loop(profile, machines, job, verdict),
    ]
    return of_sections("profiler", trial, verdict, sections)


def _summary(job: JobTimes | None) -> Iterator[Block]:
    if job is None:
        yield Text("Nothing is known of when this job ran.", "note")
        return
    parts = _parts(job)
    duration = job.seconds()["job"]
    yield Text(f"The job began at {when(job.began_ns)} and took {lasting(duration)}.")
    rows = [
        ("start", when(job.began_ns)),
        ("end", when(job.ended_ns)),
        ("duration", f"{round(duration, 3):,g} s"),
    ]
    if job.loop_began_ns is None or job.loop_ended_ns is None:
        yield Table(("", ""), tuple(rows))
        yield Text("No step was timed, so nothing is known of its training loop.", "note")
        return
    rows += [
        ("training loop start", when(job.loop_began_ns)),
        ("training loop end", when(job.loop_ended_ns)),
    ]
    for name, seconds in parts.items():
        share = round(100 * seconds / max(duration, 1e-9), 1)
        rows += [(name, f"{round(seconds, 3):,g} s"), (f"{name}, share", f"{share:,g} %")]
    yield Table(("", ""), tuple(rows))
    yield shares_chart(parts, "Time of the job")


def _parts(job: JobTimes | None) -> dict[str, float]:
    """Return the seconds of initialization, training loop and finalization, if known."""
    found = job.seconds() if job else {}
    return {name.replace("_", " "): one for name, one in found.items() if name != "job"}


def lasting(seconds: float) -> str:
    """Return a duration as people write it.

    Example:
        >>> lasting(0.25), lasting(75), lasting(7380)
        ('0.25 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _system(profile: Profile, machines: Machines) -> Iterator[Block]:
    blocks = [*usage_blocks(machines.usage())]
    yield from blocks or [Text("No device was read.", "note")]
    yield from (Text(note, "note") for note in profile.notes)


def _operators(trial: Trial) -> Iterator[Section]:
    """Yield what ran on the CPU and on GPUs, if a window was traced in detail."""
    for where, found in zip(("CPU", "GPU"), operators(trial), strict=True):
        if found:
            whole = sum(found.values())
            rows = tuple(
                (round(100 * cost / whole, 2), round(cost), name) for name, cost in found.items()
            )
            costliest = next(iter(found))
            blocks = (
                Text(f"{costliest} is the costliest operator on the {where}."),
                Table(("%", "cumulative µs", "operator"), rows),
                shares_chart(found, f"{where} operators", "µs"),
            )
            yield Section(f"{where.lower()}-operators", f"Overview: {where} operators", blocks, 2)


def _training_loop(
    profile: Profile, machines: Machines, job: JobTimes | None, verdict: Verdict
) -> Iterator[Section]:
    """Yield a section for each question about the loop, after the verdict of its rule."""
    parts = _parts(job)
    slow_start = parts.get("initialization", 0.0) > parts.get("training loop", float("inf"))
    what = "the initialization, which took longer" if slow_start else "the training loop"
    times = step_times(profile)
    drawn = [durations_chart(times)] if times else []
    blocks = [*of_rule(verdict, "max_initialization_time"), Text(_DISCLAIMER, "note"), *drawn]
    yield Section("loop", f"Analyzing {what}", tuple(blocks))
    known = verdict.facts if isinstance(verdict, ProfileVerdict) else {}

    def details(rule: str) -> Mapping[str, object]:
        return known[rule].details if rule in known else {}

    alike = known["load_balancing"].parameters["threshold"] if "load_balancing" in known else 1.0
    questions: tuple[tuple[str, str, str, Iterator[Block]], ...] = (
        (
            "step-durations", "Step duration analysis", "step_outlier",
            step_durations(profile, details("step_outlier")),
        ),
        (
            "gpu-utilization", "GPU utilization analysis", "low_gpu_utilization",
            gpu_usage(machines, "busy_percent", "Use of each GPU"),
        ),
        (
            "balance", "Workload balancing", "load_balancing",
            balance(machines, details("load_balancing"), float(str(alike))),
        ),
        (
            "loading", "Dataloading analysis", "dataloader",
            loading(profile, details("dataloader")),
        ),
        ("batch-size", "Batch size", "batch_size", batch_size(machines)),
        (
            "cpu-bottlenecks", "CPU bottlenecks", "cpu_bottleneck",
            bottlenecks(machines, details("cpu_bottleneck"), "busy core"),
        ),
        (
            "io-bottlenecks", "I/O bottlenecks", "io_bottleneck",
            bottlenecks(machines, details("io_bottleneck"), "I/O wait"),
        ),
        (
            "gpu-memory", "GPU memory", "gpu_memory_increase",
            gpu_usage(machines, "memory_percent", "Memory of each GPU"),
        ),
    )  # fmt: skip
    for key, heading, rule, blocks_of in questions:
        yield Section(key, heading, (*of_rule(verdict, rule), *blocks_of), 2)
