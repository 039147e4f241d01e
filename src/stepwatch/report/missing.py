"""What is not known of a run: what was not captured, not stored, not judged."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.blackbox.place import FOLDER
from ..rules.judgement import Judgement
from ..rules.verdict import not_judged, plural
from ..trial import Trial
from .document import Block, Table, Text


def rules_table(judgement: Judgement) -> Table:
    """Return how each rule stands."""
    order = ("IssuesFound", "Error", "NotEvaluated", "Stopped", "InProgress", "NoIssuesFound")
    ranked = sorted(judgement.statuses, key=lambda one: (order.index(one.status), one.idle))
    rows = tuple((one.rule, one.status, one.findings, one.details) for one in ranked)
    return Table(("rule", "status", "findings", "details"), rows)


def not_checked(judgement: Judgement) -> Iterator[Block]:
    """Yield a line for each rule that could not judge, and why."""
    lines = not_judged(judgement.statuses)
    yield from (Text(line) for line in lines)
    if not lines:
        yield Text("Every rule that was asked has judged.")


def missing(trial: Trial, judgement: Judgement) -> Iterator[Block]:
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
    if trial.state == "died":
        last = max(trial.steps(), default=-1)
        after = f"what came after step {last}" if last >= 0 else "every step"
        yield Text(f"not stored: {after}; the process left no note of its end", "error")
    if judgement.workers_not_seen:
        yield Text(f"{plural(judgement.workers_not_seen, 'worker')} not seen", "warning")
    if trial.store.list(FOLDER):
        yield Text(f"its last steps are in a black box: stepwatch blackbox {trial.url}")
    if not trial.profile.machines:
        yield Text("nobody read what the machine did; stepwatch run does it with --profile")
    yield from (Text(note) for note in trial.profile.notes)
