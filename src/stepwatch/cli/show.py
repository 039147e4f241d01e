"""``stepwatch show RUN``: what is in a run; numbers, a plot here, or one as a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.markup import escape

from ..errors import ConfigError, StoreError
from ..formats.findings import ActionNote, read_actions
from ..judge.evaluate import load_verdict
from ..judge.evidence_view import by_findings, is_marked
from ..judge.headline import rule_outcomes
from ..judge.rule_runner import SEEN
from ..judge.verdict import Verdict, status_fields
from ..model.finding import Finding
from ..model.steps import Mode
from ..model.subjects import subject_of
from ..numerics.statistics import DERIVED, FIELDS
from ..plots.line_charts import suits_log
from ..plots.terminal import line_plot
from ..report import Report, report_page
from ..report import run as run_report
from ..runtime.terminal import print_text
from ..store import Store
from ..trial import Series, Tensor, Trial
from ..trial.run_listing import training_starts
from .console import (
    console,
    print_chains,
    print_hanging,
    print_headline,
    print_json,
    print_outcomes,
    table,
)
from .run_names import RunVerb, run_or_newest

_STYLES = {"done": "green", "failed": "bold red", "retried": "yellow"}


def print_actions(output: Console, store: Store) -> None:
    """Print a line for each thing that was done, or failed, or was limited."""
    for note in action_text(read_actions(store)):
        style = _STYLES.get(note.outcome, "dim")
        what = escape(note.detail or note.error)
        about = escape(f"step {note.step} {note.rule}")
        detail = f" {what}" if what else ""
        output.print(
            f"[bold]{escape(note.action)}[/] [{style}]{note.outcome}[/]{detail} ({about})",
            soft_wrap=True,
        )


def action_text(notes: list[ActionNote]) -> list[ActionNote]:
    """Return the notes without those that only say that a finding was shown: it is shown here."""
    return [note for note in notes if (note.action, note.outcome) != ("warn", "done")]


def write_page(path: Path, report: Report) -> None:
    text = report_page(report)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


_COLUMNS = ("mean", "std", "abs_mean", "l2", "min", "max", "zero_fraction", "non_finite")
_MOST_ROWS, _FEWEST_STEPS, _MOST_WORKERS = 12, 4, 4
_MOST_NAMES, _MOST_CAUSES = 3, 5


@click.command(cls=RunVerb)
@run_or_newest
@click.option("--tensor", help="Show the statistics of this tensor; a regular expression.")
@click.option(
    "--statistic",
    default="",
    help=f"Plot this one: {', '.join((*FIELDS, *DERIVED))}.",
)
@click.option("--plot", type=click.Path(dir_okay=False), help="Write a self-contained HTML page.")
@click.option("-v", "--verbose", is_flag=True, help="List all rules and collections.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(
    run: str,
    tensor: str | None,
    statistic: str,
    plot: str | None,
    *,
    verbose: bool,
    as_json: bool,
) -> None:
    """Show what is in RUN."""
    trial = Trial(run)
    if statistic and statistic not in (*FIELDS, *DERIVED):
        raise ConfigError(f"no statistic {statistic!r}; there are {', '.join((*FIELDS, *DERIVED))}")
    verdict = load_verdict(trial)
    findings = verdict.marked
    names = _names(trial, tensor)
    if plot:
        made = (
            run_report.of_tensors(trial, names, statistic) if tensor else run_report.report(trial)
        )
        write_page(Path(plot), made)
        print_text(f"wrote {plot}")
    elif as_json:
        print_json(_as_json(trial, names if tensor else [], verdict))
    elif tensor:
        for name in names:
            _show_tensor(trial, name, statistic, findings)
    else:
        _show_run(trial, verdict, verbose=verbose)


def _names(trial: Trial, tensor: str | None) -> list[str]:
    if tensor is None:
        return []
    known = trial.tensor_names()
    names = [tensor] if tensor in known else trial.tensor_names(regex=tensor)
    if not names:
        trial.tensor(tensor)  # raises, and names the nearest
    return names


def _show_run(trial: Trial, verdict: Verdict, *, verbose: bool) -> None:
    output = console()
    print_headline(output, verdict.headline)
    print_chains(output, verdict, trial.workers, _MOST_CAUSES, verbose=verbose)
    print_actions(output, trial.store)
    output.print()
    for what, value in _facts(trial):
        print_hanging(output, f"{what:10s} ", value)
    output.print()
    _plot_losses(trial, verdict.marked)
    if verbose:
        output.print(_collections(trial))
        output.print()
        _print_rules(output, verdict)
    else:
        print_outcomes(output, verdict)


def _facts(trial: Trial) -> Iterator[tuple[str, str]]:
    """Yield what a run is."""
    manifest = trial.reader.manifest
    ends = trial.reader.ends()
    steps = trial.steps_by_mode()
    yield "run", trial.path
    yield "state", trial.state
    yield "command", " ".join(manifest.command)
    called = trial.settings
    for what in ("name", "project", "note"):
        if text := getattr(called, what):
            yield what, text
    if called.tags:
        yield "tags", ", ".join(called.tags)
    if called.config:
        yield "config", ", ".join(f"{name}={value}" for name, value in called.config.items())
    yield "versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    yield "workers", ", ".join(trial.workers)
    yield "steps", f"{len(trial.step_numbers()):,} ({steps})" if steps else "0"
    starts = training_starts(trial)
    if len(starts) > 1:
        *before, last = map(str, starts)
        yield "trainings", f"{len(starts)}, from TRAIN step {', '.join(before)} and {last}"
    for worker, end in ends.items():
        who = f" ({worker})" if len(ends) > 1 else ""
        if end.coverage:
            yield "captured", end.coverage.removeprefix("capturing ") + who
        if end.lost or end.dropped:
            yield "lost", (end.lost or f"{end.dropped} of {end.steps} steps") + who
        if end.failures:
            yield "failures", f"{end.failures}{who}"
        if end.error:
            yield "error", end.error + who


def _print_rules(output: Console, verdict: Verdict) -> None:
    by_rule = {status.rule: status for status in reversed(verdict.statuses)}
    outcomes = rule_outcomes(verdict.statuses)
    for wanted in ("found", "failed", "lacked data", "passed", "does not apply"):
        rules = [rule for rule, outcome in outcomes.items() if outcome == wanted]
        if rules:
            print_hanging(output, "", f"{len(rules)} {wanted}", "bold")
        seen: dict[str, None] = {}
        for rule in rules:
            why, _, there = by_rule[rule].details.partition(SEEN)
            print_hanging(output, f"  {rule:24s} ", why)
            seen.update({f"{SEEN[2:]}{there}": None} if there else {})
        for line in seen:  # the same for all of them
            print_hanging(output, "  ", line)


def _collections(trial: Trial) -> object:
    kinds = trial.reader.tensors()
    rows = []
    for name, collection in trial.collections.items():
        held = [tensor for tensor, kind in kinds.items() if collection.holds(tensor, kind)]
        listed = ", ".join(held[:_MOST_NAMES]) + (", …" if len(held) > _MOST_NAMES else "")
        rows.append((name, len(held), listed))
    return table(("collection", "tensors", "such as"), rows)


def _plot_losses(trial: Trial, findings: list[Finding]) -> None:
    kinds = trial.reader.tensors()
    for name in by_findings(trial.tensor_names(collection="losses"), findings, kinds)[:2]:
        series = trial.tensor(name).statistics(trial.modes[0])
        _plot(series, name, "mean", [one for one in findings if is_marked(one, name, kinds)])


def _show_tensor(trial: Trial, name: str, statistic: str, findings: list[Finding]) -> None:
    output = console()
    tensor = trial.tensor(name)
    series = tensor.statistics()
    arrow = series.to_arrow()
    shape, dtype = arrow.column("shape")[0].as_py(), arrow.column("dtype")[0].as_py()
    output.print(f"{name}  {tensor.collection}  {dtype}  {shape}", style="bold", markup=False)
    about = [one for one in findings if name in (one.tensor, subject_of(one.tensor).tensor)]
    chosen = _chosen_rows(series, about)
    columns = {what: _written(series, what) for what in _COLUMNS}
    modes, workers, steps = series.modes, series.workers, _train_steps(series)
    several = len(set(workers)) > 1
    rows = [
        (
            int(steps[row]),
            modes[row],
            *([workers[row]] if several else []),
            *(float(columns[what][row]) for what in _COLUMNS),
        )
        for row in chosen
    ]
    headings = ("step", "mode", *(["worker"] if several else []), *_COLUMNS)
    output.print(table(headings, rows))
    _print_digests(tensor, sorted(set(workers)), dict(zip(series.steps, steps, strict=True)))
    scalar = shape == "[]"
    _plot(series, name, statistic or ("mean" if scalar else "rms"), about)


def _chosen_rows(series: Series, findings: list[Finding]) -> list[int]:
    """Return the rows of some steps, evenly spaced and at findings: those of the first workers."""
    workers = np.array(series.workers)
    shown = sorted(set(series.workers))[:_MOST_WORKERS]
    steps = np.unique(series.steps)
    most = max(_FEWEST_STEPS, _MOST_ROWS // len(shown))
    found = np.searchsorted(steps, [one.step for one in findings[:most]], "right") - 1
    chosen = {*_evenly_spaced(len(steps), most), *(at for at in found.tolist() if at >= 0)}
    rows = np.isin(series.steps, steps[sorted(chosen)]) & np.isin(workers, shown)
    return np.flatnonzero(rows).tolist()


def _written(series: Series, what: str) -> npt.NDArray[np.float64]:
    """Return a statistic; nan of steps at which all is, and infinity where all is infinite.

    Statistics are of the finite elements, which says nothing where there are none.
    """
    values = series[what]
    above, below, is_nan = series["posinf"] > 0, series["neginf"] > 0, series["nan"] > 0
    nothing = series["finite"] == 0
    known = nothing & ~is_nan & (above | below)
    if what == "l2":
        values = np.where(nothing & is_nan, np.nan, values)
    if what in ("abs_mean", "l2"):
        return np.where(known, np.inf, values)
    if what == "min":
        return np.where(known, np.where(below, -np.inf, np.inf), values)
    if what in ("mean", "max"):
        one_sign = known & ((above != below) | (what == "max"))
        return np.where(one_sign, np.where(above, np.inf, -np.inf), values)
    return values


def _print_digests(tensor: Tensor, workers: list[str], train_steps: Mapping[int, int]) -> None:
    """Print some of the digests, if it has any: those of replicas in one row.

    Args:
        tensor: The tensor.
        workers: Those that have it.
        train_steps: The step that people count by, of each global step.
    """
    digests = {worker: tensor.digests(worker=worker) for worker in workers}
    steps = sorted(set().union(*digests.values()))
    if steps:
        rows = [
            (
                int(train_steps.get(step, step)),
                *(f"{of[step]:016x}" if step in of else "" for of in digests.values()),
            )
            for step in (steps[index] for index in _evenly_spaced(len(steps), _MOST_ROWS))
        ]
        headings = ["digest"] if len(workers) == 1 else [f"digest, {who}" for who in workers]
        console().print(table(("step", *headings), rows))


def _train_steps(series: Series) -> npt.NDArray[np.int64]:
    """Return the TRAIN step of each row that people count by; see ``StepView.train_step``."""
    evaluates = np.isin(series.modes, [Mode.EVAL.value, Mode.PREDICT.value])
    return np.where(evaluates, series.steps - series.mode_steps, series.mode_steps)


def _plot(series: Series, name: str, statistic: str, findings: list[Finding]) -> None:
    """Draw a statistic; of several workers a small plot each, as their values are apart."""
    steps, values, workers = _train_steps(series), series[statistic], np.array(series.workers)
    known = sorted(set(series.workers))
    several = len(known) > 1
    log = suits_log(values)  # of all alike, to be compared
    for worker in known[:_MOST_WORKERS]:
        rows = np.flatnonzero(workers == worker)
        rows = rows[np.argsort(steps[rows], kind="stable")]
        console().print(
            line_plot(
                steps[rows],
                values[rows],
                name=f"{name}  {worker}" if several else name,
                statistic=statistic,
                findings=[one for one in findings if one.worker in ("", worker) or not several],
                height=5 if several else 10,
                log=log,
                encoding=sys.stdout.encoding or "ascii",
            )
        )
    if len(known) > _MOST_WORKERS:
        print_text(f"and {len(known) - _MOST_WORKERS} more workers; --json has all")


def _evenly_spaced(length: int, most: int) -> list[int]:
    """Return at most ``most`` indices from the first to the last, evenly spaced."""
    if length <= most:
        return list(range(length))
    return [round(index * (length - 1) / (most - 1)) for index in range(most)]


def _as_json(trial: Trial, names: list[str], verdict: Verdict) -> dict[str, object]:
    return {
        "run": trial.url,
        "headline": verdict.headline.to_json(),
        "state": trial.state,
        "settings": asdict(trial.settings),
        "manifest": asdict(trial.reader.manifest),
        "ends": {worker: asdict(end) for worker, end in trial.reader.ends().items()},
        "steps": {str(mode): len(trial.steps(mode)) for mode in trial.modes},
        "trainings": training_starts(trial),
        "tensors": trial.reader.tensors(),
        "findings": [finding.to_dict() for finding in verdict.findings],
        "proofs": [proof.to_dict() for proof in verdict.proofs.values()],
        "actions": [asdict(note) for note in read_actions(trial.store)],
        "rules": [status_fields(status) for status in verdict.statuses],
        "series": {name: _series(trial, name) for name in names},
    }


def _series(trial: Trial, name: str) -> dict[str, object]:
    """Return what is known of a tensor, a list for each thing, with an entry for each row."""
    one = trial.tensor(name).statistics()
    beside = trial.rows(frozenset([name]), ["digest", "exponents"])
    digests = beside.column("digest").to_pylist()
    return {
        "steps": one.steps.tolist(),
        "modes": one.modes,
        "workers": one.workers,
        **{what: one[what].tolist() for what in (*FIELDS, *DERIVED)},
        "digests": [None if digest is None else f"{digest:016x}" for digest in digests],
        "exponents": beside.column("exponents").to_pylist(),
    }
