"""The run report: what was found and what began it, what the machine did, what is not known.

Each cause is shown with the steps around it: what its tensor was then, and what the machine did.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from pathlib import PurePosixPath

import numpy as np
import pyarrow as pa

from ..formats.blackbox import BLACKBOX_FOLDER
from ..formats.profile.reader import ProfileReader
from ..formats.profile.tables import ends_ns
from ..judge.evaluate import Progress, stored_or_evaluated, without_progress
from ..judge.evidence_view import by_findings, declared_view, evidence_view
from ..judge.headline import counts, rule_outcomes
from ..judge.parameters import Spec
from ..judge.root_cause import Chain
from ..judge.verdict import Verdict, consequence_lines, plural
from ..model.finding import Finding
from ..model.steps import Mode
from ..model.subjects import subject_of
from ..numerics.columns import numbers
from ..plots.downsample import envelope
from ..plots.step_axis import StepAxis
from ..rules import DEFAULT_RULES
from ..trial import Series, Trial
from ..trial.profile import Profile
from .charts import heatmap_charts, lines_chart, machine_chart, tensor_chart, then_and_usually
from .document import Block, Cause, Cell, Chart, Report, Section, Table, Text
from .profiler_sections import time_and_machine

#: How many steps are drawn on either side, and how many are listed.
DRAWN, LISTED = 50, 3
_OF_TENSOR = ("mean", "rms", "min", "max", "non_finite")
_MARGIN_NS = 15_000_000_000


def around(
    trial: Trial,
    profile: Profile,
    finding: Finding,
    shown: Container[str] = (),
    drawn: set[tuple[str, int, int]] | None = None,
) -> Iterator[Block]:
    """Yield what is known of the steps around a finding: of what it is about, else of the loss.

    Args:
        trial: The run.
        profile: Its profile.
        finding: The finding.
        shown: The numbers that are drawn over the whole run elsewhere.
        drawn: What is drawn already, with its first and last step; what is drawn here is added.
    """
    kinds = trial.reader.tensors()
    about = subject_of(finding.tensor, kinds).tensor
    losses = trial.tensor_names(collection="losses")[:1]
    for name in [about] if about in kinds else losses:
        rows = trial.tensor(name).statistics().to_arrow(())
        near = _near(rows, finding.began, DRAWN)
        if name != about and _is_drawn(name, rows, near, shown, drawn):
            continue
        if len(near):
            axis = StepAxis(trial)
            chart = _drawn(name, Series(near), finding, axis)
            if any(np.isfinite(column.mean).any() for column in chart.data["columns"].values()):
                yield chart  # else its only mark would be in empty axes
            yield _listed(name, Series(_near(near, finding.began, LISTED)), axis)
    yield from _machine(profile, finding)


def _is_drawn(
    name: str,
    rows: pa.Table,
    near: pa.Table,
    shown: Container[str],
    drawn: set[tuple[str, int, int]] | None,
) -> bool:
    """Return whether some rows of a loss are drawn already; else they are from now on."""
    if len(near) == len(rows) and name in shown:
        return True
    if drawn is None or not len(near):
        return False
    steps = numbers(near.column("step"))
    part = name, int(steps.min()), int(steps.max())
    is_known = part in drawn
    drawn.add(part)
    return is_known


def _near(rows: pa.Table, step: int, reach: int) -> pa.Table:
    """Return the rows of so many steps before and after one."""
    numbers_ = rows.column("step").to_numpy()
    steps = np.unique(numbers_)
    position = int(np.searchsorted(steps, step))
    near = steps[max(0, position - reach) : position + reach + 1]
    return rows.filter(pa.array(np.isin(numbers_, near)))


def _listed(name: str, series: Series, axis: StepAxis) -> Table:
    """Return the statistics of steps, a row for each worker."""
    steps = [
        int(axis.of([step], mode == Mode.TRAIN.value)[0])
        for step, mode in zip(series.steps, series.modes, strict=True)
    ]
    columns = _OF_TENSOR if (series["count"] > 1).any() else ("mean",)
    several = len(set(series.workers)) > 1
    rows = tuple(
        (
            *((series.workers[row],) if several else ()),
            steps[row],
            series.modes[row],
            *(_number(float(series[what][row])) for what in columns),
        )
        for row in range(len(series))
    )
    head = ("worker", "step", "mode") if several else ("step", "mode")
    return Table((*head, *(("value",) if columns == ("mean",) else columns)), rows, name)


def _number(value: float) -> float | int:
    return int(value) if value == value and abs(value) < 1e15 and value == int(value) else value


def _drawn(name: str, series: Series, finding: Finding, axis: StepAxis) -> Chart:
    """Return a chart of the steps, a line for each worker."""
    what = "mean"
    if (series["count"] > 1).any():
        declared = declared_view(finding.rule, finding.condition).statistic
        what = "non_finite" if (series["non_finite"] > 0).any() else declared or "rms"
    workers, steps = np.array(series.workers), axis.of(series.steps)
    (place,) = axis.places([finding])
    columns = {
        (str(worker) if len(set(series.workers)) > 1 else what): envelope(
            steps[workers == worker], series[what][workers == worker], points=2 * DRAWN + 1
        )
        for worker in dict.fromkeys(series.workers)
    }
    label = "value" if what == "mean" else what
    titles = {"title": name, "about": f"{label} of the steps around step {place.step}"}
    return lines_chart(columns, titles, findings=[place])


def _machine(profile: Profile, finding: Finding) -> Iterator[Block]:
    """Yield what the machine did while the step ran."""
    if not profile.machines:
        yield Text("What the machine did then is not known: nobody read its devices.", "note")
    elif span := _time_of(profile, finding.began):
        chart = machine_chart(
            profile,
            span[0] - _MARGIN_NS,
            span[1] + _MARGIN_NS,
            title="What the machine did then",
            span=span,
        )
        table = then_and_usually(profile, *span)
        yield from (block for block in (table, chart) if block is not None)


def _time_of(profile: Profile, step: int) -> tuple[int, int] | None:
    """Return when a step began and ended, nanoseconds since the Unix epoch."""
    rows = profile.steps()
    found = rows.column("step").to_numpy() == step
    starts = rows.column("start_ns").to_numpy()[found]
    ends = ends_ns(rows)[found]
    return (int(starts.min()), int(ends.max())) if len(starts) else None


def rules_blocks(verdict: Verdict) -> Iterator[Block]:
    """Yield the rules that passed and those that do not apply in a line each, a row for others."""
    outcomes = rule_outcomes(verdict.statuses)
    by_rule = {status.rule: status for status in reversed(verdict.statuses)}
    for wanted, begin in (("passed", "Passed"), ("does not apply", "Do not apply")):
        names = [rule for rule, outcome in outcomes.items() if outcome == wanted]
        if names:
            yield Text(f"{begin} ({len(names)}): {', '.join(names)}")
    rows = tuple(
        (rule, outcome, by_rule[rule].findings, by_rule[rule].details)
        for wanted in ("found", "failed", "lacked data")
        for rule, outcome in outcomes.items()
        if outcome == wanted
    )
    if rows:
        yield Table(("rule", "outcome", "findings", "details"), rows)


def missing(trial: Trial, verdict: Verdict) -> Iterator[Block]:
    """Yield what was captured, and what of it is not there."""
    ends = trial.reader.ends()
    several = len(ends) > 1
    for worker, end in ends.items():
        who = f"{worker}: " if several else ""
        if end.coverage:
            yield Text(f"{who}{end.coverage}")
        if end.lost or end.dropped:
            lost = end.lost or f"{end.dropped} of {end.steps} steps"
            yield Text(f"{who}not stored: {lost}", "warning")
        if end.failures:
            failures = plural(end.failures, "failure")
            yield Text(f"{who}{failures} to store or to look at what was captured", "warning")
        if end.error:
            yield Text(f"{who}{end.error}", "error")
    if trial.death:
        yield Text(trial.death, "error")
    if verdict.workers_not_seen:
        yield Text(f"{plural(verdict.workers_not_seen, 'worker')} not seen", "warning")
    if trial.store.list(BLACKBOX_FOLDER):
        yield Text(f"its last steps are in a black box: stepwatch blackbox {trial.path}")
    if not trial.profile.machines:
        yield Text("nobody read what the machine did; stepwatch run does it with --profile")
    yield from (Text(note) for note in trial.profile.notes)


def cached_profile(trial: Trial) -> Profile:
    """Return the profile of a run as it is now."""
    return Profile(trial.store, _CachedProfile(trial.profile.reader))


class _CachedProfile:
    """Reads a profile once: a report asks for the same rows again and again."""

    def __init__(self, reader: ProfileReader) -> None:
        self.machines, self.workers, self.bounds = reader.machines, reader.workers, reader.bounds
        self.traces, self.notes = reader.traces, reader.notes
        self._system, self._spans = cache(reader.system), cache(reader.spans)

    def system(self, *_: object) -> pa.Table:
        return self._system()

    def spans(self, *_: object) -> pa.Table:
        return self._spans()


#: Of the causes so many are shown with the steps around them; the rest are listed.
MOST_CAUSES = 5
_MOST_CURVES = 12
_CURVES = ("losses", "metrics", "learning_rates")


def suits(trial: Trial) -> bool:
    """Return whether there is something to tell: any step at all."""
    return bool(trial.modes)


def report(
    trial: Trial, rules: Sequence[Spec] | None = None, *, shown: Progress = without_progress
) -> Report:
    """Return what is known of a run.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        shown: Shows how far judging is.
    """
    verdict = stored_or_evaluated(trial, rules, default=DEFAULT_RULES, shown=shown)
    profile = cached_profile(trial)
    view = evidence_view(trial, verdict.chains[0].cause if verdict.chains else None)
    names = _curve_names(trial, verdict)
    sections = [
        Section("evidence", "How it went", (*_curves(trial, verdict, names[:1]),)),
        *cause_sections(trial, profile, verdict, names[:1]),
        Section("training", "Training", (*_curves(trial, verdict, names[1:_MOST_CURVES]),)),
        Section("model", "The model", (*heatmap_charts(trial, verdict.marked, view),)),
        Section("machine", "Time and machine", (*time_and_machine(profile),)),
        Section("rules", "Rules", (*rules_blocks(verdict),)),
        Section("missing", "What was captured, and what is missing", (*missing(trial, verdict),)),
    ]
    return of_sections("run", trial, verdict, sections)


def of_sections(
    kind: str,
    trial: Trial,
    verdict: Verdict,
    sections: Sequence[Section],
    more: Mapping[str, Cell] | None = None,
) -> Report:
    """Return a report on a run that was judged, of those sections that hold anything.

    Args:
        kind: The kind of report.
        trial: The run.
        judgement: What rules say of it.
        sections: The sections, in their order.
        more: Facts that stand before those of every run.
    """
    head = verdict.headline
    return Report(
        kind,
        title(trial),
        head.title,
        head.tone,
        {**(more or {}), **facts(trial, verdict)},
        tuple(section for section in (*sections, _versions(trial)) if section.blocks),
        (
            *([head.rest] if head.rest else []),
            *head.details,
            *([f"What to do: {head.remedy}"] if head.remedy else []),
        ),
        head.commands,
        head.traceback,
    )


def _versions(trial: Trial) -> Section:
    """Return with which versions it ran."""
    versions = trial.reader.manifest.versions.items()
    text = ", ".join(f"{name} {version}" for name, version in versions)
    return Section("versions", "Versions", (Text(text),) if text else ())


def of_tensors(trial: Trial, names: Sequence[str], statistic: str = "") -> Report:
    """Return some tensors over the run, with what was found about them.

    Args:
        trial: The run.
        names: The tensors.
        statistic: What to draw of them; ``""`` for what suits each.
    """
    verdict = stored_or_evaluated(trial, default=())
    charts = tuple(tensor_chart(trial, name, verdict.marked, statistic) for name in names)
    about = [one for one in verdict.marked if one.tensor in {*names}]
    rows = tuple((one.severity, one.train_step, one.rule, one.message) for one in about)
    found = Table(("severity", "step", "rule", "finding"), rows, "Findings about them")
    sections = (Section("tensors", "Tensors", (*((found,) if rows else ()), *charts)),)
    headline = f"{plural(len(about), 'finding')} about {plural(len(names), 'tensor')}"
    return Report("run", title(trial), headline, "", facts(trial, verdict), sections)


def title(trial: Trial) -> str:
    """Return the name of a run."""
    return PurePosixPath(trial.url).name or trial.url


def facts(trial: Trial, verdict: Verdict) -> dict[str, Cell]:
    """Return what a run is, in few words."""
    manifest = trial.reader.manifest
    started = when(manifest.started_ns) if manifest.started_ns else None
    steps = trial.steps_by_mode()
    known: dict[str, Cell] = {
        "checks": counts(verdict.headline.checks),
        "state": trial.state,
        "started": started,
        "steps": steps or "none",
        "workers": len(trial.workers),
        "command": " ".join(manifest.command),
    }
    return {name: value for name, value in known.items() if value not in (None, "")}


def when(time_ns: int) -> str:
    """Return a time as people write it, in UTC.

    Example:
        >>> when(1_700_000_000_000_000_000)
        '2023-11-14 22:13:20 UTC'
    """
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def cause_sections(
    trial: Trial, profile: Profile, verdict: Verdict, shown: Sequence[str] = ()
) -> Iterator[Section]:
    """Yield a section for each cause with the steps around it, and one that lists the rest.

    Args:
        trial: The run.
        profile: Its profile.
        verdict: What rules say of it.
        shown: The numbers that are drawn over the whole run, with all that was found marked.
    """
    drawn: set[tuple[str, int, int]] = set()
    chains = verdict.chains
    for number, chain in enumerate(chains[:MOST_CAUSES], 1):
        cause = cause_of(chain, verdict)
        name = f"{chain.cause.title}, {chain.cause.where()}"
        heading = f"Cause {number}: {name}" if len(chains) > 1 else f"Cause: {name}"
        yield Section(
            f"cause-{number}", heading, (cause, *around(trial, profile, chain.head, shown, drawn))
        )
    rest = chains[MOST_CAUSES:]
    if rest:
        rows = tuple(
            (
                one.severity,
                one.cause.train_step,
                one.cause.rule,
                one.cause.message,
                len(one.findings),
            )
            for one in rest
        )
        table = Table(("severity", "step", "rule", "what was found first", "findings"), rows)
        yield Section("more-causes", f"{plural(len(rest), 'further cause')}", (table,))


def cause_of(chain: Chain, verdict: Verdict) -> Cause:
    """Return a chain as a block."""
    gaps = verdict.blind_spots(chain).lines()
    lines = [*consequence_lines(chain), *(f"not checked: {gap}" for gap in gaps)]
    names = tuple(finding.finding_id for finding in chain.findings)
    head = verdict.headline
    is_headline = head.outcome == "found" and chain.cause is head.cause
    return Cause(chain.head, tuple(lines), verdict.confirm(chain), names, is_headline)


def _curve_names(trial: Trial, verdict: Verdict) -> list[str]:
    """Return the losses, the metrics and the learning rates, what shows the first cause first."""
    names = [name for kind in _CURVES for name in trial.tensor_names(collection=kind)]
    return by_findings(names, verdict.marked, trial.reader.tensors())


def _curves(trial: Trial, verdict: Verdict, names: Sequence[str]) -> Iterator[Block]:
    """Yield a chart of each of some numbers."""
    yield from (tensor_chart(trial, name, verdict.marked) for name in names)
