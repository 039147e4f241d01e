"""``stepwatch blackbox RUN``: what a training did last, from what its death could not take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.markup import escape

from ..errors import TensorUnavailable, nearest
from ..formats.blackbox import (
    SNAPSHOT_FRAME,
    STEP_FRAME,
    TRIGGER_FRAME,
    Frame,
    dump_keys,
    read_frames,
)
from ..formats.findings import read_findings
from ..judge.crash import last_batch
from ..model.collection import compiled
from ..numerics.statistics import Statistics
from ..runtime.terminal import print_text
from ..trial import Trial
from ..trial.last_steps import Moment, end_ns_of, moments_of
from .console import console, print_hanging, print_json, table
from .run_names import RunVerb, run_or_newest

_COLUMNS = ("mean", "std", "l2", "min", "max", "zeros", "non_finite")
_MOST_BAD = 8
_NUMBERS = ("loss", "learning_rate", "gradient_norm")
_STATES = {"running": "is running", "stopped": "was stopped", "interrupted": "was interrupted"}


@click.command(cls=RunVerb)
@run_or_newest
@click.option(
    "--steps", default=10, show_default=True, type=click.IntRange(1), help="So many of the last."
)
@click.option("--worker", help="Only this worker, such as worker_3.")
@click.option("--tensor", help="Show this tensor in these steps; a regular expression.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def blackbox(
    run: str, steps: int, worker: str | None, tensor: str | None, *, as_json: bool
) -> None:
    """Show the last steps of RUN, also of one that was killed."""
    trial = Trial(run)
    frames = read_frames(trial.store, worker)
    moments = moments_of(frames)
    recent = moments[-steps:]
    if as_json:
        print_json(_as_json(trial, frames, recent, tensor))
    elif not moments and worker not in (None, *trial.workers):
        raise TensorUnavailable(_why_empty(trial, worker))
    elif not moments:
        print_text(_why_empty(trial, worker))
    elif tensor:
        _show_tensors(recent, tensor)
    else:
        _show(trial, frames, recent)
        _show_bad(moments)


def _why_empty(trial: Trial, worker: str | None) -> str:
    if worker is not None:
        return f"no black box of {worker} in {trial.path}; there are {', '.join(trial.workers)}"
    return f"no black box in {trial.path}; {why_no_black_box(trial)}"


def why_no_black_box(trial: Trial) -> str:
    """Return why a run has none: it ended well and needs none, or it never had one."""
    if trial.state == "finished" and not read_findings(trial.store):
        return "the run ended well and nothing was found"
    return f"the run {_STATES.get(trial.state, trial.state)} without one, as with --black-box 0"


def _show(trial: Trial, frames: list[Frame], moments: list[Moment]) -> None:
    output = console()
    for what, value in _headlines(trial, frames, moments):
        if what == "trigger":
            print_hanging(output, f"{what:10s} ", value)
        else:
            output.print(f"[bold]{what:10s}[/] {escape(value)}", soft_wrap=True)
    output.print()
    several = len({moment.worker for moment in moments}) > 1
    end_ns = end_ns_of(frames)
    rows = []
    for moment in moments:
        facts = moment.facts(end_ns)
        of = f" {moment.worker}" if several else ""
        recorded = "" if facts["recorded"] else "not recorded"
        numbers = ("-" if facts[one] is None else facts[one] for one in _NUMBERS)
        before = f"{facts['before_end_s']:.3f} s"
        rows.append((f"{moment.place}{of}", before, *numbers, facts["non_finite"], recorded))
    names = ("step", "before end", "loss", "learning rate", "gradient norm", "not finite", "")
    output.print(table(names, rows))
    output.print()
    for line in _batch_lines(moments):
        output.print(escape(line), soft_wrap=True)
    for text in dict.fromkeys(end.traceback for end in trial.reader.ends().values()):
        if text:
            output.print(f"\n{text}", markup=False, soft_wrap=True)


def _headlines(
    trial: Trial, frames: list[Frame], moments: list[Moment]
) -> Iterator[tuple[str, str]]:
    last, several = moments[-1], len({moment.worker for moment in moments}) > 1
    yield "run", trial.path
    yield "state", trial.state
    only = "" if last.record is not None else ", of which only the beginning was recorded"
    yield "last step", f"{last.place}{only}"
    if differs := last_batch(moments)[0]:
        yield "batch", differs
    for frame in frames:
        if frame.kind == TRIGGER_FRAME:
            yield "trigger", _trigger(frame) + (f" ({frame.worker})" if several else "")
    snapshots = [frame for frame in frames if frame.kind == SNAPSHOT_FRAME]
    if snapshots:
        yield "snapshots", ", ".join(map(_snapshot, snapshots))
    for key in dump_keys(trial.store):
        yield "dump", key
    left_out = max((int(f.meta["left_out"]) for f in frames if f.kind == STEP_FRAME), default=0)
    if left_out:
        yield "left out", f"{left_out} frames: the queue was full, or they were too large"


def _trigger(frame: Frame) -> str:
    meta = frame.meta
    finding = meta.get("finding", {})
    more = meta.get("error") or finding.get("message") or meta.get("loss", "")
    step = f"step {meta.get('mode_step', meta['step'])}" if "step" in meta else ""
    where = finding.get("where", step)
    reason = finding.get("title", meta["reason"])
    return ": ".join(str(part) for part in (where, reason, more) if part)


def _snapshot(frame: Frame) -> str:
    step = f"step {frame.mode_step}"
    size = sum(array.nbytes for array in frame.arrays.values())
    why = frame.meta.get("left_out")
    return f"{step} left out, {why}" if why else f"{step} {size / 2**20:.3g} MiB"


def _show_bad(moments: list[Moment]) -> None:
    first = next((moment for moment in moments if moment.bad()), None)
    if first is None:
        return
    bad, output = first.bad(), console()
    output.print(
        f"\nnot finite first, in step {first.place} of {first.worker}, in this order:", markup=False
    )
    for name, count in bad[:_MOST_BAD]:
        output.print(f"  {name} ({count} elements)", markup=False)
    if len(bad) > _MOST_BAD:
        output.print(f"  and {len(bad) - _MOST_BAD} more", markup=False)


def _batch_lines(moments: list[Moment]) -> Iterator[str]:
    for moment in moments:
        for one in moment.batch:
            end = one.get("digest") or f"left out: {one.get('left_out')}"
            yield f"step {moment.place}  {one['name']}  {one['dtype']}  {one['shape']}  {end}"


def _show_tensors(moments: list[Moment], tensor: str) -> None:
    output = console()
    places = {one.record.step: one.place for one in moments if one.record is not None}
    for name, rows in _series(moments, tensor).items():
        output.print(name, style="bold", markup=False)
        lines = [(places[step], *map(values.get, _COLUMNS)) for step, values in rows.items()]
        output.print(table(("step", *_COLUMNS), lines))


def _series(moments: list[Moment], tensor: str) -> dict[str, dict[int, dict[str, float]]]:
    """Return the statistics of each tensor of this name or pattern, by name and global step."""
    records = [moment.record for moment in moments if moment.record is not None]
    known = dict.fromkeys(one.name for record in records for one in record.layout.tensors)
    names = (
        [tensor] if tensor in known else [name for name in known if compiled(tensor).search(name)]
    )
    if not names:
        raise TensorUnavailable(f"no tensor {tensor!r} in these steps{nearest(tensor, known)}")
    found: dict[str, dict[int, dict[str, float]]] = {name: {} for name in names}
    for record in records:
        for name in names:
            row = record.layout.row_of.get(name)
            if row is not None:
                statistics = Statistics(record.statistics[row])
                values = {what: getattr(statistics, what) for what in _COLUMNS}
                found[name][record.step] = values
    return found


def _as_json(
    trial: Trial, frames: list[Frame], moments: list[Moment], tensor: str | None
) -> Mapping[str, Any]:
    steps = [
        {**moment.facts(end_ns_of(frames)), "not_finite": moment.bad(), "batch": moment.batch}
        for moment in moments
    ]
    triggers = [dict(frame.meta) for frame in frames if frame.kind == TRIGGER_FRAME]
    snapshots = [
        {name: frame.meta.get(name) for name in ("step", "mode", "mode_step", "left_out")}
        for frame in frames
        if frame.kind == SNAPSHOT_FRAME
    ]
    return {
        "run": trial.url,
        "state": trial.state,
        "steps": steps,
        "triggers": triggers,
        "snapshots": snapshots,
        "dumps": dump_keys(trial.store),
        "tensors": _series(moments, tensor) if tensor else {},
    }
