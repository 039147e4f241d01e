"""``stepwatch blame RUN --step N``: what each row of a batch does to loss and gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click

from ..errors import StepUnavailable
from ..formats.manifest import FIRST_WORKER
from ..judge.evaluate import load_verdict
from ..model.steps import Mode
from ..trial import Trial
from ..trial.alternatives import AS_RECORDED, Alternative
from ..trial.recording import replayable_steps
from .console import console, print_json, table, working
from .keras_blame import is_of_keras, keras_rows
from .replay import check_trusted, find_recorded, frames_by_worker
from .replays import Replays, Task
from .run_names import RUN, RunVerb
from .script_command import TRUST, time_limit

_MOST_ROWS = 10


@click.command(cls=RunVerb)
@click.argument("run", type=RUN)
@click.option(
    "--step",
    "number",
    type=int,
    help="The TRAIN step, as findings count; by default that of the first finding that can be run"
    " again, else the last that can.",
)
@TRUST
@time_limit("replay")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def blame(run: str, number: int | None, limit_s: float, *, trust: bool, as_json: bool) -> None:
    """Say what each row of a step's batch does to loss and gradient.

    The step of RUN is run again from the black box, and its loss is taken apart; the worst row
    comes first, with its index in the data set where a DataLoader drew it. Of a run of several
    processes all run the step again, each its own batch. Of a Keras run, which
    has no black box, the script trains up to that step again; the index is that in the array that
    fit was given.

    This runs the program that RUN names. Where you did not make RUN on this machine, the program
    is shown, and you are asked first.
    """
    trial = Trial(run)
    of_keras = is_of_keras(trial)
    if number is None:
        known = trial.steps(Mode.TRAIN) if of_keras else _replayable_steps(trial)
        number = _step_to_blame(trial, known)
    if of_keras:
        check_trusted(trial, trust=trust)
        with working("training up to the step again"):
            rows = _ranked(keras_rows(trial, number, limit_s))
        step = dict(zip(trial.steps(Mode.TRAIN), trial.global_steps(Mode.TRAIN), strict=True))
        _tell(trial, step[number], number, rows, as_json=as_json)
        return
    recorded = find_recorded(trial, number)
    check_trusted(trial, trust=trust)
    manifest = trial.reader.manifest
    tasks = [
        Task(manifest, one.recording, options=one.options, limit_s=limit_s, drawn=one.drawn)
        for one in recorded
    ]
    with working("running the step again"), Replays(tasks, "blame") as replays:
        replayed = replays.run(Alternative(AS_RECORDED, AS_RECORDED))
    facts = []
    for one, again in zip(recorded, replayed, strict=True):
        if again.error:
            raise StepUnavailable(again.error)
        why = again.facts["refused"]
        if not again.facts["rows"]:
            why = why or (
                "the script computes its loss itself, and only losses of torch can be taken apart"
            )
            raise StepUnavailable(f"the rows of TRAIN step {number} cannot be told apart: {why}")
        facts += [{"worker": one.record.worker, **row} for row in again.facts["rows"]]
    _tell(trial, recorded[0].record.step, number, _ranked(facts), as_json=as_json)


def _tell(
    trial: Trial, step: int, number: int, rows: list[dict[str, Any]], *, as_json: bool
) -> None:
    if as_json:
        document = {"run": trial.url, "step": step, "mode_step": number}
        print_json({**document, "rows": rows})
        return
    _show(f"TRAIN step {number}: {len(rows)} rows, by their share of the gradient", rows)


def _replayable_steps(trial: Trial) -> list[int]:
    """Return the TRAIN steps that all processes of a run can run again, ascending."""
    known = [set(replayable_steps(frames)) for frames in frames_by_worker(trial).values()]
    return sorted(set.intersection(*known))


def _step_to_blame(trial: Trial, known: Sequence[int]) -> int:
    """Return the TRAIN step of the first finding that can be run again, else the last that can.

    Args:
        trial: The run.
        known: The steps that can.
    """
    findings = sorted(load_verdict(trial).findings, key=lambda one: one.step)
    found = [one.train_step for one in findings if one.train_step in known]
    # Of what cannot be run again it is said why not.
    return next(iter([*found, *known[-1:], *trial.steps(Mode.TRAIN)[-1:]]), 0)


def _ranked(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, the worst first, with their shares of loss and gradient.

    A loss that is not finite is worse than all that are. It spoils what the others give to the
    gradient as well, so that what is not finite there is not known of them.
    """
    spoiled = any(not math.isfinite(one["loss"]) for one in facts)
    rows = [
        {
            **one,
            "gradient": None
            if spoiled and math.isfinite(one["loss"]) and not math.isfinite(one["gradient"])
            else one["gradient"],
            **{name: one.get(name) for name in ("index", "checked", "shown")},
            "worker": one.get("worker", FIRST_WORKER),
        }
        for one in facts
    ]
    for what in ("loss", "gradient"):
        sizes = [abs(one[what]) for one in rows if one[what] is not None]
        whole = math.fsum(size for size in sizes if math.isfinite(size))
        for one in rows:
            one[f"{what}_share"] = _share(one[what], whole)
    return sorted(rows, key=_badness, reverse=True)


def _share(size: float | None, whole: float) -> float | None:
    """Return the part of what is finite; ``None`` for what is not, or not known."""
    if size is None or not math.isfinite(size):
        return None
    return abs(size) / whole if whole else 0.0


def _badness(row: dict[str, Any]) -> tuple[bool, float, float]:
    gradient, loss = row["gradient"], row["loss"]
    return (
        not math.isfinite(loss),
        -1.0 if gradient is None else gradient if math.isfinite(gradient) else math.inf,
        loss if math.isfinite(loss) else math.inf,
    )


def _show(headline: str, rows: list[dict[str, Any]]) -> None:
    output = console()
    output.print(headline, style="bold", markup=False)
    several = len({row["call"] for row in rows}) > 1
    workers = len({row["worker"] for row in rows}) > 1
    cells = [
        (
            *([row["worker"]] if workers else []),
            f"{row['call']}:{row['row']}" if several else row["row"],
            _index(row),
            float(row["loss"]),
            _percent(row["loss_share"]),
            "not known" if row["gradient"] is None else float(row["gradient"]),
            _percent(row["gradient_share"]),
        )
        for row in rows[:_MOST_ROWS]
    ]
    columns = ("row", "index in the data", "loss", "of all", "gradient", "of all")
    output.print(table(("worker", *columns) if workers else columns, cells))
    if len(rows) > _MOST_ROWS:
        output.print(f"  and {len(rows) - _MOST_ROWS} more")
    if rows[0]["shown"]:
        whose = f" of {rows[0]['worker']}" if workers else ""
        output.print(
            f"row {rows[0]['row']}{whose} is {rows[0]['shown']}", markup=False, soft_wrap=True
        )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _index(row: dict[str, Any]) -> str:
    """Return the index of a row, and whether the data set says so now."""
    if row["index"] is None:
        return "not known"
    return f"{row['index']}" if row["checked"] is not False else f"{row['index']}, not as it is now"
