"""The verdict of rules on a run: as it was judged while it trained, or now, at once or in parts.

A rule does not depend on others. So what several partitions of the rules find, put in the order
of steps and rules, is what one ``Watch`` finds with all of them, wherever they were evaluated.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..formats.findings import parse_findings, read_statuses
from ..formats.proofs import read_proofs
from ..model.finding import Finding
from ..model.record import Layout, StepRecord, TensorInfo
from ..profile.windows import ProfileSource
from ..trial import Trial
from ..trial.step_log import in_order, rows_in
from .engine import RuleStatus, Watch
from .headline import Replayable, run_state
from .parameters import Spec, parse_rules
from .root_cause import StepOrder
from .step_view import StepView
from .verdict import Verdict

#: The rows of tensors are looked for in so many steps of findings.
_MOST_STEPS = 4

Records = Iterable[tuple[StepRecord, ...]]
#: Passes steps on, and may show how far it is.
Progress = Callable[[Records], Records]


def without_progress(records: Records) -> Records:
    """Pass steps on, and show nothing."""
    return records


def load_verdict(trial: Trial) -> Verdict:
    """Return what is stored of a run; without statuses where no rule judged it."""
    statuses = [RuleStatus(**status) for status in read_statuses(trial.store)]  # type: ignore[arg-type]
    findings = parse_findings(trial.store)
    return verdict_so_far(trial, findings, list(dict.fromkeys(statuses)))


def evaluate(
    trial: Trial,
    rules: Sequence[Spec],
    *,
    shown: Progress = without_progress,
) -> Verdict:
    """Judge a run.

    Args:
        trial: The run.
        rules: By which.
        shown: Shows how far judging is.
    """
    steps = (StepView(records, trial.patterns) for records in shown(trial.records()))
    return verdict_of(trial, [evaluate_partition(steps, rules, profile=trial.profile)])


def stored_or_evaluated(
    trial: Trial,
    rules: Sequence[Spec] | None = None,
    *,
    default: Sequence[Spec],
    shown: Progress = without_progress,
) -> Verdict:
    """Return what is stored of a run, or judge it where nothing is.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        default: By which to judge it where nothing is stored.
        shown: Shows how far judging is.
    """
    stored = load_verdict(trial) if rules is None else None
    if stored is not None and is_judged(trial, stored):
        return stored
    return evaluate(trial, default if rules is None else rules, shown=shown)


def is_judged(trial: Trial, stored: Verdict) -> bool:
    """Return whether what is stored of a run is about all of its steps, or those so far.

    Where a process was killed, its rules stood still before its last steps.
    """
    broke_off = trial.ended and any(one.status == "InProgress" for one in stored.statuses)
    return bool(stored.statuses) and not broke_off


def step_order_of(trial: Trial, findings: Sequence[Finding] = ()) -> StepOrder:
    """Return where the tensors stand in a step.

    Args:
        trial: The run.
        findings: Of the run: what was not there in its first steps is looked for in theirs.
    """
    names = trial.reader.tensors()
    firsts = [trial.global_steps(mode)[0] for mode in trial.modes]
    known = set(trial.steps())
    later = sorted({one.step for one in findings} & known)[:_MOST_STEPS]
    rows = rows_in(trial, [*firsts, *later])
    tensors = (TensorInfo(name, names[name], "", ()) for name in in_order(names, rows))
    return StepOrder([Layout(tuple(tensors))])


@dataclass(frozen=True, slots=True)
class PartialEvaluation:
    """What some of the rules found in a run.

    Args:
        findings: Each after the number of steps before it and the position of its rule.
        statuses: Of each rule, after its position.
        order: The tensors that the run has.
    """

    findings: tuple[tuple[float, int, Finding], ...]
    statuses: tuple[tuple[int, RuleStatus], ...]
    order: StepOrder


def evaluate_partition(
    steps: Iterable[StepView],
    rules: Sequence[Spec],
    first: int = 0,
    of: int = 1,
    profile: ProfileSource | None = None,
) -> PartialEvaluation:
    """Evaluate all steps of a run, and its profile, by every ``of``-th rule.

    Args:
        steps: In order.
        rules: All of them, as for ``Watch``.
        first: Which rule is the first of these.
        of: How many partitions there are.
        profile: Where the time went; ``None`` if that is not known.
    """
    watched = parse_rules(rules)
    position = {one.name: number for number, one in enumerate(watched)}
    engine = Watch(watched[first::of])
    findings: list[tuple[float, int, Finding]] = []
    order = StepOrder()
    for number, step in enumerate(steps):
        for record in step.records:
            order.add(record.layout)
        findings += [(number, position[one.rule], one) for one in engine.evaluate(step)]
    last = [] if profile is None else engine.scan(profile, ended=True)
    findings += [(math.inf, position[one.rule], one) for one in (*last, *engine.finish())]
    statuses = tuple((position[one.rule], one) for one in engine.statuses())
    return PartialEvaluation(tuple(findings), statuses, order)


def merge_partitions(
    parts: Sequence[PartialEvaluation],
) -> tuple[list[Finding], list[RuleStatus], StepOrder]:
    """Return findings and statuses of all partitions, as if one had judged with all rules."""
    findings = sorted((one for part in parts for one in part.findings), key=lambda one: one[:2])
    statuses = sorted((one for part in parts for one in part.statuses), key=lambda one: one[0])
    return [one for *_, one in findings], [one for _, one in statuses], parts[0].order


def verdict_of(trial: Trial, parts: Sequence[PartialEvaluation]) -> Verdict:
    """Return the verdict of all partitions of the rules on a run."""
    return _verdict(trial, *merge_partitions(parts))


def verdict_so_far(
    trial: Trial, findings: Sequence[Finding], statuses: Sequence[RuleStatus]
) -> Verdict:
    """Return the verdict of a watch that followed a run."""
    return _verdict(
        trial, findings, statuses, step_order_of(trial, findings) if findings else StepOrder()
    )


def _verdict(
    trial: Trial, findings: Sequence[Finding], statuses: Sequence[RuleStatus], order: StepOrder
) -> Verdict:
    absent = trial.reader.manifest.num_workers - len(trial.workers)
    can = Replayable(trial) if findings else frozenset[int]()
    proofs = read_proofs(trial.store) if findings else {}
    asked = trial.reader.manifest.collections
    raw = frozenset(one.name for one in asked if one.policy.raw is not None)
    return Verdict(
        *(trial.path, findings, statuses, order, max(0, absent), run_state(trial), can, proofs),
        raw=raw,
        script=_script(trial),
    )


# What Ray starts for each of its workers: no script of anybody.
_RAY_WORKER = "default_worker.py"


def _script(trial: Trial) -> str:
    """Return what ``stepwatch run`` is given to train again, as far as the run knows it."""
    manifest = trial.reader.manifest
    if not manifest.command or manifest.command[0].endswith(_RAY_WORKER):
        return "SCRIPT"
    launcher = "LAUNCHER " if manifest.num_workers > 1 else ""  # torchrun and its like
    return f"{launcher}{shlex.join(manifest.command)}"
