"""What rules say of a run: as it was judged while it trained, or now where it was not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..finding import Finding
from ..formats.findings import read_findings, read_statuses
from ..record import Layout, StepRecord, TensorInfo
from ..trial import Trial
from ..trial.execution_order import in_order
from . import DEFAULT_RULES
from .judgement import Judgement
from .parameters import Spec
from .places import Places
from .step_view import StepView
from .watch import RuleStatus, Watch

Records = Iterable[tuple[StepRecord, ...]]
#: Passes steps on, and may show how far it is.
Shown = Callable[[Records], Records]


def in_silence(records: Records) -> Records:
    """Pass steps on, and show nothing."""
    return records


def judged(
    trial: Trial,
    rules: Sequence[Spec] | None = None,
    *,
    default: Sequence[Spec] = DEFAULT_RULES,
    shown: Shown = in_silence,
) -> Judgement:
    """Return the judgement of a run.

    Args:
        trial: The run.
        rules: Judge it anew, by these; by default what is stored of it counts.
        default: By which to judge it where nothing is stored.
        shown: Shows how far judging is.
    """
    statuses = [RuleStatus(**status) for status in read_statuses(trial.store)]  # type: ignore[arg-type]
    if rules is not None or not statuses:
        return _judge(trial, default if rules is None else rules, shown)
    findings = [Finding.from_json(line) for line in read_findings(trial.store)]
    return _judgement(trial, findings, list(dict.fromkeys(statuses)))


def _judge(trial: Trial, rules: Sequence[Spec], shown: Shown) -> Judgement:
    engine = Watch(rules)
    findings = [
        finding
        for records in shown(trial.records())
        for finding in engine.look(StepView(records, trial.patterns))
    ]
    findings += [*engine.scan(trial.profile, ended=True), *engine.finish()]
    return _judgement(trial, findings, engine.statuses())


def _judgement(
    trial: Trial, findings: Sequence[Finding], statuses: Sequence[RuleStatus]
) -> Judgement:
    absent = trial.reader.manifest.num_workers - len(trial.workers)
    run = trial.url.removeprefix("file://")  # as people write it
    return Judgement(run, findings, statuses, places(trial), max(0, absent))


def places(trial: Trial) -> Places:
    """Return where the tensors stand in a step."""
    names = trial.reader.tensors()
    tensors = (TensorInfo(name, names[name], "", ()) for name in in_order(names, trial.order))
    return Places([Layout(tuple(tensors))])
