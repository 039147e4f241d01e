"""The run report: what was found and what began it, what the machine did, what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import PurePosixPath

from ..finding import SEVERITIES
from ..rules.chain import Chain
from ..rules.judged import Shown, in_silence, judged
from ..rules.judgement import Judgement
from ..rules.parameters import Spec
from ..rules.verdict import followed, headline, plural
from ..trial import Trial
from ..trial.profile import Profile
from .around import around
from .document import Block, Cause, Cell, Report, Section, Table
from .missing import missing, not_checked, rules_table
from .profile_sections import time_and_machine
from .read_once import read_once
from .tensors import heatmap_charts, tensor_chart

#: Of the causes so many are shown with the steps around them; the rest are listed.
MOST_CAUSES = 5
_MOST_CURVES = 12
_CURVES = ("losses", "metrics", "learning_rates")


def suits(trial: Trial) -> bool:
    """Return whether there is something to tell: any step at all."""
    return bool(trial.modes)


def report(
    trial: Trial, rules: Sequence[Spec] | None = None, *, shown: Shown = in_silence
) -> Report:
    """Return what is known of a run.

    Args:
        trial: The run.
        rules: Judge it anew, by these.
        shown: Shows how far judging is.
    """
    judgement = judged(trial, rules, shown=shown)
    profile = read_once(trial)
    sections = [
        *cause_sections(trial, profile, judgement),
        Section("training", "Training", (*_curves(trial, judgement),)),
        Section("model", "The model", (*heatmap_charts(trial, judgement.findings),)),
        Section("machine", "Time and machine", (*time_and_machine(profile),)),
        Section("not-checked", "What was not checked", (*not_checked(judgement),)),
        Section("rules", "Rules", (rules_table(judgement),)),
        Section("missing", "What was captured, and what is missing", (*missing(trial, judgement),)),
    ]
    return of_sections("run", trial, judgement, sections)


def of_sections(
    kind: str,
    trial: Trial,
    judgement: Judgement,
    sections: Sequence[Section],
    more: Mapping[str, Cell] | None = None,
) -> Report:
    """Return a report on a run that was judged, of those sections that hold anything.

    Args:
        kind: Of the report.
        trial: The run.
        judgement: What rules say of it.
        sections: In their order.
        more: Facts that stand before those of every run.
    """
    return Report(
        kind,
        title(trial),
        answer(judgement),
        tone(judgement),
        {**(more or {}), **facts(trial, judgement)},
        tuple(section for section in sections if section.blocks),
    )


def of_tensors(trial: Trial, names: Sequence[str], statistic: str = "") -> Report:
    """Return some tensors over the run, with what was found about them.

    Args:
        trial: The run.
        names: The tensors.
        statistic: What to draw of them; ``""`` for what suits each.
    """
    judgement = judged(trial, default=())
    charts = tuple(tensor_chart(trial, name, judgement.findings, statistic) for name in names)
    about = [one for one in judgement.findings if one.tensor in {*names}]
    rows = tuple((one.severity, one.step, one.rule, one.message) for one in about)
    found = Table(("severity", "step", "rule", "finding"), rows, "Findings about them")
    sections = (Section("tensors", "Tensors", (*((found,) if rows else ()), *charts)),)
    headline = f"{plural(len(about), 'finding')} about {plural(len(names), 'tensor')}"
    return Report("run", title(trial), headline, "", facts(trial, judgement), sections)


def answer(judgement: Judgement) -> str:
    """Return the first cause, or the verdict where there is none."""
    if judgement.chains:
        return judgement.chains[0].cause.headline()
    return headline(judgement.findings, judgement.statuses)


def title(trial: Trial) -> str:
    """Return the name of a run."""
    return PurePosixPath(trial.url).name or trial.url


def tone(judgement: Judgement) -> str:
    """Return the worst severity of what was found; empty for nothing."""
    found = [finding.severity for finding in judgement.findings]
    return max(found, key=SEVERITIES.index, default="")


def facts(trial: Trial, judgement: Judgement) -> dict[str, Cell]:
    """Return what a run is, in few words."""
    manifest = trial.reader.manifest
    started = when(manifest.started_ns) if manifest.started_ns else None
    steps = ", ".join(f"{len(trial.steps(mode)):,} {mode}" for mode in trial.modes)
    known: dict[str, Cell] = {
        "rules": headline(judgement.findings, judgement.statuses) if judgement.findings else "",
        "state": trial.state,
        "started": started,
        "steps": steps or "none",
        "workers": len(trial.workers),
        "command": " ".join(manifest.command),
        **manifest.versions,
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


def cause_sections(trial: Trial, profile: Profile, judgement: Judgement) -> Iterator[Section]:
    """Yield a section for each cause with the steps around it, and one that lists the rest."""
    chains = judgement.chains
    for number, chain in enumerate(chains[:MOST_CAUSES], 1):
        cause = cause_of(chain, judgement)
        name = f"{chain.cause.rule} at {chain.cause.where()}"
        heading = f"Cause {number}: {name}" if len(chains) > 1 else f"Cause: {name}"
        yield Section(f"cause-{number}", heading, (cause, *around(trial, profile, chain.cause)))
    rest = chains[MOST_CAUSES:]
    if rest:
        rows = tuple(
            (one.severity, one.cause.step, one.cause.rule, one.cause.message, len(one.findings))
            for one in rest
        )
        table = Table(("severity", "step", "rule", "what was found first", "findings"), rows)
        yield Section("more-causes", f"{plural(len(rest), 'further cause')}", (table,))


def cause_of(chain: Chain, judgement: Judgement) -> Cause:
    """Return a chain as it is told."""
    gaps = judgement.unchecked(chain).lines()
    lines = [*followed(chain), *(f"not checked: {gap}" for gap in gaps)]
    names = tuple(finding.finding_id for finding in chain.findings)
    return Cause(chain.cause, tuple(lines), chain.confirm(judgement.run), names)


def _curves(trial: Trial, judgement: Judgement) -> Iterator[Block]:
    """Yield the losses, the metrics and the learning rates."""
    names = [name for kind in _CURVES for name in trial.tensor_names(collection=kind)]
    yield from (tensor_chart(trial, name, judgement.findings) for name in names[:_MOST_CURVES])
